#!/usr/bin/python3
"""The independent judge: runs `flashbook attend` on random problems and judges all that it wrote.

    judge.py --program build/default/walkthrough/flashbook [--count N] [--seed S] [--impl NAME ...]

docs/independent_judge.md says what it computes and how far a correct answer may be from it.
Exit status: 0 all agree, 1 one does not, 2 bad usage.
"""
import argparse
import collections
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import skip_without_torch  # noqa: F401, must come first
import numpy as np
import torch

import problems
from attention import INF, attention
from compare import Judged
from tolerance import UNIT, Arithmetic

FLAGS = {"q": "--q", "k": "--k", "v": "--v", "do": "--do", "dlse": "--dlse", "bias": "--bias", "alibi": "--alibi",
         "sinks": "--sinks"}
NUMPY = {"fp16": "<f2", "bf16": "<f4", "fp32": "<f4", "fp64": "<f8"}


def swapped(draft, name, array):
    """[B, N, H, c] ↔ [B, H, N, c] for the tensors that --layout speaks of."""
    heads = draft.layout == "bhnd" and name in ("q", "k", "v", "do", "o", "dq", "dk", "dv")
    return array.swapaxes(1, 2) if heads else array


def unrounded(draft, array, dtype):
    """Numbers that round to these in the problem's type, for files that hold more digits than it."""
    return array * (1 + 0.2 * UNIT[dtype] * draft.rng.uniform(-1, 1, array.shape))


def write(draft, problem, folder):
    """Writes the problem's tensors as .npy; returns the options of `attend` that describe it."""
    options = ["--layout", draft.layout] if draft.layout != "bnhd" else []
    options += ["--dtype", draft.dtype] if draft.files or draft.dtype == "bf16" else []
    for name, flag in FLAGS.items():
        tensor = getattr(problem, name)
        if tensor is None:
            continue
        dtype = "fp32" if name == "dlse" and draft.dtype != "fp64" else draft.dtype
        held = draft.files.get(name, NUMPY[dtype]) if dtype != "fp64" else NUMPY[dtype]
        array = swapped(draft, name, tensor.numpy())
        if np.finfo(held).eps < UNIT[dtype]:
            array = unrounded(draft, array, dtype)
        np.save(f"{folder}/{name}.npy", np.array(array.astype(held), order="C"))
        options += [flag, f"{folder}/{name}.npy"]
    for name in ("cu_q", "cu_k"):
        offsets = getattr(problem, name)
        if offsets is not None:
            np.save(f"{folder}/{name}.npy", np.array(offsets, dtype=draft.pick(["<i4", "<i8"])))
            options += [name.replace("cu_", "--cu-seqlens-"), f"{folder}/{name}.npy"]
    if problem.scale is not None:
        options += ["--scale", repr(problem.scale)]
    if problem.softcap is not None:
        options += ["--softcap", repr(problem.softcap)]
    if problem.window is not None:
        options += ["--window"] + ["inf" if side == INF else str(side) for side in problem.window]
    alignment = "top-left" if problem.top_left else "bottom-right"
    if problem.causal:
        options += ["--causal", alignment]
    elif problem.top_left:
        options += ["--align", alignment]
    return options


def forward_only(options):
    """The options without those that ask for gradients, each of which has a value."""
    left = list(options)
    for flag in ("--do", "--dlse"):
        if flag in left:
            at = left.index(flag)
            del left[at:at + 2]
    return left


def asked_of(problem, dtype):
    """The rows of `list` that a problem touches."""
    has = {
        "rows off 16 bytes": problem.q.shape[-1] % 8 or problem.v.shape[-1] % 8,
        "packed sequences": problem.cu_q is not None,
        "window": problem.window is not None,
        "softcap": problem.softcap is not None,
        "bias": problem.bias is not None,
        "ALiBi": problem.alibi is not None,
        "sinks": problem.sinks is not None,
    }
    return [dtype] + [row for row, asked in has.items() if asked]


def takes(entry, rows, what):
    """Whether an implementation's entry of `list --json` says that it takes all of these rows."""
    return all(entry["options"][row][what]["supported"] for row in rows)


def read(folder):
    return {name[:-4]: np.load(f"{folder}/{name}") for name in sorted(os.listdir(folder))}


class Run:
    """One pass over the problems, with its folder of files and its tallies."""

    def __init__(self, program, seed, keep):
        self.program, self.seed, self.keep = program, seed, keep
        self.tally = collections.defaultdict(collections.Counter)
        self.covered, self.together = collections.Counter(), collections.Counter()
        self.worst = collections.defaultdict(float)
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")

    def implementations(self, only):
        listing = subprocess.run([self.program, "list", "--json"], capture_output=True, text=True, check=True)
        found = {entry["name"]: entry for entry in json.loads(listing.stdout)}
        for name in only or ():
            if name not in found:
                raise ValueError(f"--impl is {name}: pass one of {', '.join(found)}")
        return [found[name] for name in (only or found)]

    def judge(self, index, entries):
        """Judges problem number index by every implementation; returns the number of failures."""
        draft, problem = problems.draw(self.seed, index)
        self.covered.update(draft.options)
        self.covered[draft.dtype] += 1
        self.covered[draft.kind] += 1
        self.together[min(len(draft.options), 3)] += 1
        folder = f"{self.keep}/problem-{self.seed}-{index}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        options = write(draft, problem, folder)
        judged = Judged(draft, problem, *attention(problem))
        failures = sum(self.one(judged, entry, options, folder) for entry in entries)
        if not failures:
            shutil.rmtree(folder)
        return failures

    def one(self, judged, entry, options, folder):
        name, dtype, properties = entry["name"], judged.draft.dtype, entry["properties"]
        arithmetic = Arithmetic(dtype, properties["materialised"], properties["eps_exp"], properties["eps_tanh"])
        rows = asked_of(judged.problem, dtype)
        supported, backward = takes(entry, rows, "forward"), takes(entry, rows, "backward")
        if not supported:
            self.tally[name]["refused"] += 1
        elif judged.overflows(arithmetic):
            self.tally[name]["skipped"] += 1
        if not supported or judged.overflows(arithmetic):
            return 0
        out = f"{folder}/{name}"
        asked = options if backward else forward_only(options)
        command = [self.program, "attend", "--impl", name, *asked, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=120)
        if done.returncode:
            faults = [f"exit status {done.returncode}: {done.stderr.strip()}"]
        else:
            written = {key: swapped(judged.draft, key, array) for key, array in read(out).items()}
            faults, fractions = judged.faults(written, arithmetic, properties["nan_spreads_within"], backward)
            for key, fraction in fractions.items():
                self.worst[name, dtype, key] = max(self.worst[name, dtype, key], fraction)
        self.tally[name]["failed" if faults else "passed"] += 1
        if faults:
            print(f"\n{name} on {judged}\n  {shlex.join(command)}")
            print("".join(f"  {fault}\n" for fault in faults), end="", flush=True)
        return len(faults)

    def report(self):
        print(f"\n{'problems with':16}" + "count")
        for name, count in self.covered.items():
            print(f"{name:16}{count:5}")
        print("options at a time: " + ", ".join(
            f"{'3 or more' if n == 3 else n}: {count}" for n, count in sorted(self.together.items())))
        print(f"\n{'implementation':22}{'passed':>8}{'failed':>8}{'refused':>8}{'skipped':>8}")
        for name, tally in self.tally.items():
            cells = (tally[what] for what in ("passed", "failed", "refused", "skipped"))
            print(f"{name:22}" + "".join(f"{cell:8}" for cell in cells))
        print("\nlargest fraction used of the bounds on elements, and (*) on gains")
        for (name, dtype) in dict.fromkeys(key[:2] for key in self.worst):
            cells = {key[2]: value for key, value in self.worst.items() if key[:2] == (name, dtype)}
            print(f"{name:22}{dtype:6}" + "  ".join(f"{key} {cells[key]:.2f}" for key in sorted(cells)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True,
                        help="flashbook, or what answers `list --json` and `attend` as it does")
    parser.add_argument("--impl", action="append", help="judge this implementation only; may be repeated")
    parser.add_argument("--count", type=int, default=problems.ALONE_AND_PAIRS + 189,
                        help="problems (default %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the numbers (default %(default)s)")
    parser.add_argument("--keep", help="folder for the files of failures (default: a new one in the system's)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep = arguments.keep or tempfile.mkdtemp(prefix="flashbook-judge-")
    run = Run(arguments.program, arguments.seed, keep)
    try:
        entries = run.implementations(arguments.impl)
    except ValueError as error:
        parser.error(str(error))
    failures = sum(run.judge(i, entries) for i in range(arguments.first, arguments.first + arguments.count))
    run.report()
    if failures:
        sys.exit(f"{failures} faults; their files are in {keep}")
    shutil.rmtree(keep, ignore_errors=True)


if __name__ == "__main__":
    main()
