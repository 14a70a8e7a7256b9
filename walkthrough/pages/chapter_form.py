"""What every chapter has: a head that programs can read, something to run at once, an honest end."""
import glob
import os
import re

import directives
import links

HEAD = re.compile(r"# (\d+)\. [^\n]+\n\n(?:> [^\n]+\n)+\n\*Needs: ([^*]+)\. (\d+) minutes\.\*\n")
LAST_SECTIONS = ["What remains unexplained", "Exercises"]
FIRST_SCREEN = 24  # lines
WIDEST = 78  # columns of a fence of the author's own, which stands indented on a terminal
CODE = 100  # columns of a listing: what clang-format allows; a terminal folds it and shows where
LISTINGS = {"code": CODE, "diff": CODE + directives.MARGIN}


def faults_of(page):
    """(line, what is wrong)"""
    head = HEAD.match("\n".join(page.lines))
    if not head:
        yield 1, ("a chapter begins with '# NUMBER. TITLE', a quoted question (> …) and "
                  "'*Needs: …. NUMBER minutes.*', with blank lines between them")
        return
    folder = os.path.basename(os.path.dirname(page.path))
    if int(head[1]) != int(folder[:2]):
        yield 1, f"its number is {head[1]}, its folder's name says {folder[:2]}"
    for needed in re.findall(r"\]\(\.\./(\d\d)_\w+/chapter\.md\)", head[2]):
        if int(needed) >= int(head[1]):
            yield 1, f"chapter {head[1]} needs chapter {int(needed)}, which comes after it"

    runs = [block for block in page.blocks if block.kind == "run"]
    if not runs or runs[0].line > FIRST_SCREEN:
        yield 1, f"nothing to run within the first {FIRST_SCREEN} lines"
    yield from wide_lines(page)
    sections = [line[3:].strip() for _, line in links.prose_lines(page.lines)
                if line.startswith("## ")]
    if sections[-2:] != LAST_SECTIONS:
        yield len(page.lines), f"its last two sections are not {' and '.join(LAST_SECTIONS)}"
    yield from exercise_faults(page)


def wide_lines(page):
    """Lines of fences that a terminal would break."""
    fits = [WIDEST] * len(page.lines)
    for block in page.blocks:
        columns = LISTINGS.get(block.kind, directives.COLUMNS)
        fits[block.begin:block.end] = [columns] * (block.end - block.begin)
    prose = {line for line, _ in links.prose_lines(page.lines)}
    for number, (line, columns) in enumerate(zip(page.lines, fits), 1):
        if number not in prose and len(line) > columns:
            yield number, f"a line of {len(line)} columns in a fence, where {columns} fit"


def wide_listings(page):
    """Of a page that `read` does not show: nothing folds its listings."""
    for block in page.blocks:
        for number in range(block.begin, block.end) if block.kind in LISTINGS else ():
            columns = len(page.lines[number])
            if columns > directives.COLUMNS:
                yield number + 1, f"a listing of {columns} columns, where {directives.COLUMNS} fit"


def exercise_faults(page):
    """Every exercise is whole, and the chapter tells of it by a link to its task."""
    linked = {target for _, target in links.targets_of(page.lines)}
    folder = os.path.dirname(page.path)
    for exercise in sorted(glob.glob(os.path.join(folder, "exercises", "*", ""))):
        name = os.path.relpath(exercise, folder)
        files = set(os.listdir(exercise))
        for stem in ("start", "solution"):
            if not files & {stem + ".hpp", stem + ".cuh"}:
                yield len(page.lines), f"{name} has no {stem}.hpp or {stem}.cuh"
        for file in {"task.md", "judge.cpp"} - files:
            yield len(page.lines), f"{name} has no {file}"
        if os.path.join(name, "task.md") not in linked:
            yield len(page.lines), f"no link to {name}/task.md"
