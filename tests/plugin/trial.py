"""A new user's trial: trial.py PAGE PROGRAM runs what the page's console blocks say, as they say it.

In a folder that looks like a clone, ./book being PROGRAM, each line after "$ " is run, and must print
the lines below it, where … stands for any lines. Numbers with a decimal point may differ: they are
roundings, and a machine's own.
"""
import os
import re
import subprocess
import sys
import tempfile


def transcript(page):
    """(command, lines it must print) of each block in turn."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *printed = part.rstrip("\n").split("\n")
            yield command, printed


def like(line):
    return re.sub(r"-?\d+\.\d+(e[-+]\d+)?", "#", line).rstrip()


def matches(printed, expected):
    if expected[:1] == ["…"]:
        return any(matches(printed[i:], expected[1:]) for i in range(len(printed) + 1))
    if not printed or not expected:
        return printed == expected
    return like(printed[0]) == like(expected[0]) and matches(printed[1:], expected[1:])


def prepare(clone, root, program):
    for name in ("cpu_reference", "cuda", "walkthrough"):
        os.symlink(os.path.join(root, name), os.path.join(clone, name))
    book = os.path.join(clone, "book")
    with open(book, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nFLASHBOOK_COMMAND=./book exec "{program}" "$@"\n')
    os.chmod(book, 0o755)


def main(page, program):
    root = os.path.dirname(os.path.dirname(os.path.abspath(page)))
    with open(page, encoding="utf-8") as file:
        steps = list(transcript(file.read()))
    with tempfile.TemporaryDirectory() as clone:
        prepare(clone, root, program)
        for command, expected in steps:
            done = subprocess.run(command, shell=True, cwd=clone, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            printed = done.stdout.rstrip("\n").split("\n") if done.stdout else []
            if not matches(printed, expected):
                print(f"{page}: {command}\nprints\n{done.stdout}\nand not\n" + "\n".join(expected))
                return 1
    print(f"{len(steps)} commands")
    return 0 if steps else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
