"""What a page says of its listings, outputs and pictures, and how each is made again.

A page is complete Markdown. A directive, an HTML comment on a line of its own, says where the block
below it comes from:

    <!-- code sim/io/fa2_forward.cpp : row_tile -->    a fenced block: the lines between
                                                       // [row_tile] and // [/row_tile], dedented
    <!-- code walkthrough/data/text.txt -->            a fenced block: the whole file
    <!-- diff old.cuh new.cuh : region -->             a fenced block: what the region of the first
                                                       file lost (-) and that of the second has (+)
    <!-- run sim bound --d 64 | lines 1-8, 12- -->     a fenced block: $ ./book sim bound --d 64 and
                                                       what it prints; a cut is shown as …
    <!-- run attend --q none.npy | exit 2 -->          the same, of a command with that exit status
    <!-- picture tiles.svg : sim bound --d 64 -->      ![…](tiles.svg): the file beside the page that
                                                       the command writes when given --svg FILE
"""
import difflib
import os
import re
import shlex
import textwrap

DIRECTIVE = re.compile(r"^<!-- (code|diff|run|picture) (.*?) -->$")
FENCE = re.compile(r"^(`{3,})([^`]*)$")
MARK = re.compile(r"^\s*(?://|#) \[(/?)(\w+)\]$")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".h": "c", ".c": "c", ".py": "python"}
COLUMNS = 80
CUT = "…"
CONTEXT = 2  # lines around a change
MARGIN = 2  # columns of + and -, before each line of a diff


class PageError(Exception):
    """A directive that cannot be followed; the message says why."""


class Block:
    """A directive, and the lines [begin, end) of the page that it answers for."""

    def __init__(self, line, kind, text, begin, end):
        self.line, self.kind, self.text, self.begin, self.end = line, kind, text, begin, end

    def __str__(self):
        return f"{self.kind} {self.text}"


def blocks_of(lines):
    """The directives of a page. One without a block below it has an empty range."""
    blocks, i = [], 0
    while i < len(lines):
        directive = DIRECTIVE.match(lines[i])
        if directive:
            end = end_of_block(lines, i + 1, directive[1])
            blocks.append(Block(i + 1, directive[1], directive[2].strip(), i + 1, end))
            i = max(end, i + 1)
        elif FENCE.match(lines[i]):
            i = end_of_fence(lines, i)
        else:
            i += 1
    return blocks


def end_of_block(lines, i, kind):
    if i == len(lines):
        return i
    if kind == "picture":
        return i + 1 if lines[i].startswith("![") else i
    return end_of_fence(lines, i) if FENCE.match(lines[i]) else i


def end_of_fence(lines, i):
    fence = FENCE.match(lines[i])[1]
    for end in range(i + 1, len(lines)):
        if lines[end].rstrip() == fence:
            return end + 1
    raise PageError(f"line {i + 1}: the fence is never closed")


def fenced(content, language):
    """The block's lines; the fence is longer than any in the content."""
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *content.rstrip("\n").split("\n"), fence]


# Code.

def split_code(text):
    path, _, region = (part.strip() for part in text.partition(" : "))
    return path, region


def source_text(root, path, region):
    file = os.path.join(root, path)
    if not os.path.isfile(file):
        raise PageError(f"there is no file {path}")
    with open(file, encoding="utf-8") as source:
        content = source.read()
    if region:
        content = region_of(content, region, path)
    return content


def code_block(root, text):
    path, region = split_code(text)
    return fenced(source_text(root, path, region), LANGUAGES.get(os.path.splitext(path)[1], ""))


def diff_block(root, text):
    paths, region = split_code(text)
    if len(paths.split()) != 2:
        raise PageError(f"'diff {text}' is not 'diff OLD NEW : region'")
    old, new = (source_text(root, path, region).split("\n") for path in paths.split())
    if old == new:
        raise PageError("there is no difference")
    return fenced("\n".join(changes(old, new)), "diff")


def changes(old, new):
    """What changed, with the lines around it; what is left out shows as one …"""
    lines, end = [], 0
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        if group[0][1] > end:
            lines.append(CUT)
        for tag, i, end, j, j_end in group:
            both = tag == "equal"
            lines += [("  " if both else "- ") + line for line in old[i:end]]
            lines += [] if both else ["+ " + line for line in new[j:j_end]]
    return [line.rstrip() for line in lines] + ([CUT] if end < len(old) else [])


def region_of(text, name, path):
    """The lines between the marks, dedented, without the marks of other regions."""
    inside, found, lines = False, False, []
    for line in text.split("\n"):
        mark = MARK.match(line)
        if mark and mark[2] == name:
            if bool(mark[1]) != inside or (found and not inside):
                raise PageError(f"the marks of [{name}] in {path} do not pair up")
            inside, found = not inside, True
        elif inside and not mark:
            lines.append(line)
    if not found:
        regions = sorted({mark[2] for mark in map(MARK.match, text.split("\n")) if mark})
        raise PageError(f"{path} has no region [{name}]; it has {', '.join(regions) or 'none'}")
    if inside:
        raise PageError(f"[{name}] of {path} does not end with // [/{name}]")
    return textwrap.dedent("\n".join(lines))


# Commands.

class Command:
    """ARGS | lines 1-4, 9- | exit 1"""

    def __init__(self, text):
        arguments, *options = (part.strip() for part in text.split(" | "))
        self.words, self.ranges, self.status = shlex.split(arguments), [], 0
        for option in options:
            if re.fullmatch(r"lines \d+(-\d*)?(, \d+(-\d*)?)*", option):
                self.ranges = [bounds(part) for part in option[len("lines "):].split(", ")]
            elif re.fullmatch(r"exit \d+", option):
                self.status = int(option.split()[1])
            else:
                raise PageError(f"'{option}' is neither 'lines 1-4, 9-' nor 'exit 1'")

    def key(self):
        return tuple(self.words)


def bounds(text):
    first, dash, last = text.partition("-")
    return int(first), (int(last) if last else None) if dash else int(first)


def typed(words):
    """What a reader types, broken so that it fits the terminal: before options, where that is enough."""
    parts = []  # an option and its values, or words before any option
    for word in words:
        is_option = re.match(r"-+[a-z]", word) is not None
        parts += [[]] if is_option or len(parts) < 2 else []
        parts[-1].append(shlex.quote(word))
    lines = ["$ ./book"]
    for part in parts:
        whole = " ".join(part)
        for text in [whole] if len(whole) <= COLUMNS - 8 else part:
            if len(lines[-1]) + 1 + len(text) > COLUMNS - 2:
                lines[-1] += " \\"
                lines.append("     ")
            lines[-1] += " " + text
    return "\n".join(lines)


def cut(output, ranges):
    """The lines of the ranges; what is left out between them, before and after shows as one …"""
    lines = output.rstrip("\n").split("\n")
    if not ranges:
        return "\n".join(lines)
    kept, after = [], 1
    for first, last in ranges:
        last = len(lines) if last is None else last
        if not after <= first <= last <= len(lines):
            raise PageError(f"lines {first}-{last} are not in order, or not among {len(lines)}")
        kept += ([CUT] if first > after else []) + lines[first - 1:last]
        after = last + 1
    return "\n".join(kept + ([CUT] if after <= len(lines) else []))


def run_block(program, text):
    command = Command(text)
    status, output = program.result(command.key())
    if status != command.status:
        raise PageError(f"exit status {status} in place of {command.status}:\n{output.rstrip()}")
    shown = cut(output, command.ranges)
    wide = [line for line in shown.split("\n") if len(line) > COLUMNS]
    if wide:
        raise PageError(f"{len(wide[0])} columns are more than {COLUMNS}: {wide[0]}")
    return fenced(typed(command.words) + "\n" + shown, "console")


# Pictures.

def split_picture(text):
    name, colon, arguments = (part.strip() for part in text.partition(" : "))
    if not colon or not re.fullmatch(r"[\w-]+\.svg", name):
        raise PageError(f"'picture {text}' is not 'picture NAME.svg : ARGS'")
    return name, shlex.split(arguments)


def commands_of(block):
    """What has to be run for the block: (words, writes a picture)."""
    if block.kind == "run":
        yield Command(block.text).key(), False
    if block.kind == "picture":
        yield tuple(split_picture(block.text)[1]), True
