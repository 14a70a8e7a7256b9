"""Every link of a page leads somewhere: to a file or folder, and to a heading where it names one."""
import os
import re

import directives

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$")


def prose_lines(lines):
    """(line number, text) of what is no code."""
    i = 0
    while i < len(lines):
        if directives.FENCE.match(lines[i]):
            i = directives.end_of_fence(lines, i)
        else:
            if not lines[i].startswith("    "):
                yield i + 1, lines[i]
            i += 1


def anchor_of(heading):
    """As GitHub makes them: small letters, no punctuation, dashes for spaces."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    return {anchor_of(match[1]) for _, line in prose_lines(lines) if (match := HEADING.match(line))}


def fault_of(target, page_path):
    if re.match(r"https?://", target):
        return None
    path, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(page_path), path)) if path else page_path
    if not os.path.exists(file):
        return f"the link ({target}) leads to no file"
    if anchor and anchor not in (anchors_of(file) if file.endswith(".md") else ()):
        return f"the link ({target}) leads to no heading of {os.path.basename(file)}"
    return None


def targets_of(lines):
    """(line number, target). A link's text may go on in the next line."""
    prose = dict(prose_lines(lines))
    text = "\n".join(prose.get(number, "") for number in range(1, len(lines) + 1))
    text = re.sub(r"`[^`]*`", lambda span: "\n" * span[0].count("\n"), text)
    for match in LINK.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def faults_of(page):
    """(line, what is wrong)"""
    for line, target in targets_of(page.lines):
        fault = fault_of(target, page.path)
        if fault:
            yield line, fault
