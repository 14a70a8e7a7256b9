"""Makes every page's listings, outputs and pictures again.

    pages.py PROGRAM                rewrites the pages that are stale, and names them
    pages.py PROGRAM --check        only compares, and prints what differs
    pages.py PROGRAM PAGE…          of these pages only

Pages are the Markdown files of the repository. directives.py says how a page names what it shows;
links.py, chapter_form.py and prose_numbers.py what else must be true of it: that is checked either way.
Exit status 1 if anything is wrong that was not put right.
"""
import argparse
import difflib
import glob
import os
import sys

import chapter_form
import directives
import links
import prose_numbers
from directives import PageError
from program import Program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHAPTERS = "walkthrough/chapters"
PAGES = ["*.md", "docs/*.md", f"{CHAPTERS}/*.md", f"{CHAPTERS}/*/chapter.md",
         f"{CHAPTERS}/*/exercises/*/task.md"]


class Page:
    def __init__(self, path, lines=None):
        self.path = path
        self.name = os.path.relpath(path, ROOT)
        self.lines = read_text(path).split("\n") if lines is None else lines
        self.blocks = directives.blocks_of(self.lines)

    def commands(self):
        for block in self.blocks:
            try:
                yield from directives.commands_of(block)
            except PageError:
                pass  # said when the block is made again

    def is_chapter(self):
        return os.path.basename(self.path) == "chapter.md"

    def rule_faults(self, sources):
        """What is wrong with the page beside its blocks."""
        rules = [links.faults_of(self)]
        if self.is_chapter():
            rules += [chapter_form.faults_of(self), prose_numbers.faults_of(self, sources)]
        else:
            rules.append(chapter_form.wide_listings(self))
        for rule in rules:
            for line, fault in rule:
                yield f"{self.name}:{line}: {fault}"

    def regenerated(self, block, program):
        """The block's lines as they should be, and (file, text) of a picture or None."""
        if block.kind == "code":
            return directives.code_block(ROOT, block.text), None
        if block.kind == "diff":
            return directives.diff_block(ROOT, block.text), None
        if block.kind == "run":
            return directives.run_block(program, block.text), None
        name, words = directives.split_picture(block.text)
        status, printed, svg = program.picture(tuple(words))
        if status != 0:
            raise PageError(f"exit status {status}:\n{printed.rstrip()}")
        old = self.lines[block.begin:block.end]
        if not old or not old[0].endswith(f"]({name})"):
            raise PageError(f"the line below must be ![what it shows]({name})")
        return old, (os.path.join(os.path.dirname(self.path), name), svg)


def read_text(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def difference(old, new):
    lines = difflib.unified_diff(old, new, "on the page", "now", lineterm="", n=1)
    return "".join(f"    {line}\n" for line in list(lines)[:40])


def compare(page, program):
    """What is wrong with the page, one text each; the page's new lines; the pictures to write."""
    faults, pictures, lines, after = [], [], [], 0
    for block in page.blocks:
        where = f"{page.name}:{block.line}: <!-- {block} -->"
        lines += page.lines[after:block.begin]
        after = block.end
        old = page.lines[block.begin:block.end]
        try:
            new, picture = page.regenerated(block, program)
        except PageError as error:
            faults.append((f"{where}: {error}", False))
            new, picture = old, None
        lines += new
        if new != old:
            faults.append((f"{where} is stale:\n{difference(old, new)}", True))
        if picture and picture[1] != read_text(picture[0]):
            faults.append((f"{where}: the file is stale", True))
            pictures.append(picture)
    return faults, lines + page.lines[after:], pictures


def write(page, lines, pictures):
    for path, text in [(page.path, "\n".join(lines)), *pictures]:
        if text != read_text(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"rewrote {os.path.relpath(path, ROOT)}")


def known_sources(root):
    """What a sentence may name as its source: the headings of sources.md."""
    lines = read_text(os.path.join(root, CHAPTERS, "sources.md")).split("\n")
    return {line[3:].strip() for line in lines if line.startswith("## ")}


def open_pages(paths):
    """The pages that can be read, and what is wrong with the others."""
    pages, faults = [], []
    for path in paths:
        try:
            pages.append(Page(path))
        except (PageError, OSError) as error:
            faults.append(f"{os.path.relpath(path, ROOT)}: {error}")
    return pages, faults


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(words)

    paths = [os.path.abspath(page) for page in arguments.pages]
    paths = paths or sorted(sum((glob.glob(os.path.join(ROOT, p)) for p in PAGES), []))
    pages, faults = open_pages(paths)
    program, sources = Program(arguments.program, ROOT), known_sources(ROOT)
    program.prepare(command for page in pages for command in page.commands())
    for page in pages:
        found, lines, pictures = compare(page, program)
        if not arguments.check:
            write(page, lines, pictures)
            page = Page(page.path, lines)
        faults += [text for text, mendable in found if arguments.check or not mendable]
        faults += page.rule_faults(sources)
    for fault in faults:
        print(fault)
    blocks = sum(len(page.blocks) for page in pages)
    print(f"{len(pages)} pages, {blocks} blocks made again, {len(faults)} faults")
    if faults and arguments.check:
        print("where only an output or a listing changed: ./book regenerate, and look at git diff")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
