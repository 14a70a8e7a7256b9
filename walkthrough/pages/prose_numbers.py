"""No number that a program can compute is typed by hand: what a chapter's prose may say.

A number in the prose, in a table or in a code span of a chapter passes

  - if it is one digit without a unit: a count of things, a coefficient, a dimension;
  - if a listing or an output of the same chapter holds it, to the digit; with a unit of bytes, FLOPs,
    time or percent, the block that holds it must show that unit too (in a column's heading, say);
  - if the arithmetic is beside it, in a comment that readers of the page do not see:
        512 MiB<!-- = 16384 * 16384 * 2 / MiB -->
    Numbers in it, but for digits and powers of ten, must themselves be in a listing or an output, so
    that they cannot grow old;
  - if its sentence, or its part of one up to a semicolon, says where it comes from: [FA1, Table 2],
    where sources.md has a heading FA1.

Parts of names (fp16, FA2, A100), references (chapter 12, a heading's number, check 12,
Figure 2, Alg. 1) and the widths of types
(16-bit) are no numbers. Everything else is, and fails.
"""
import ast
import math
import re
from decimal import Decimal

import directives

NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:[eE]([+-]?\d+))?(?![\d])")
UNIT = re.compile(r"[  ]?(bytes?|[kKMGTP]i?B|B|[kMGTP]?FLOPs?|[nµm]s|s|%|times|elements|×(?! ?\w))"
                  r"(/s|/B)?(?!\w)")
LOOSE = {"times", "elements", "×"}  # what is counted, and need not be repeated in the block
REFERENCE = re.compile(r"(?:^#|book (?:read|check)|chapters?|figures?|tables?|sections?|steps?|exercises?|alg\.|algorithms?|"
                       r"theorems?|lemmas?|equations?|thm|page) ?$", re.IGNORECASE)
TYPE_WIDTH = re.compile(r"-bit| bits?\b")
EXPRESSION = re.compile(r"[`*]*<!-- = (.+?) -->")
TAG = re.compile(r"\[([A-Z][\w-]*)(?:, [^\]]+)?\](?!\()")
SENTENCE_END = re.compile(r"(?<=;)\s+|(?<=[.?!:])\s+(?=[A-Z`*(\[Σ])")
NAMES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
         "exp": math.exp, "log": math.log, "log2": math.log2, "sqrt": math.sqrt,
         "ceil": math.ceil, "floor": math.floor}


class Number:
    def __init__(self, match):
        whole, fraction, exponent = match.groups()
        self.text = match.group()
        self.decimals = len(fraction or ".") - 1
        self.value = Decimal(whole.replace(",", "") + (fraction or "")).scaleb(int(exponent or 0))
        unit = UNIT.match(match.string, match.end())
        self.unit = (unit[1].rstrip("s") if unit[1] not in LOOSE | {"s", "ns", "µs", "ms"} else
                     unit[1]) + (unit[2] or "") if unit else ""
        self.end = unit.end() if unit else match.end()

    def is_small(self):
        return not self.unit and self.value < 10 and self.decimals == 0

    def shown(self):
        return f"{self.text} {self.unit}".strip()


def numbers_of(text):
    """What counts as a number, with its match."""
    for match in NUMBER.finditer(text):
        if REFERENCE.search(text[:match.start()]) or TYPE_WIDTH.match(text, match.end()):
            continue
        yield match, Number(match)


class Evidence:
    """The numbers of a chapter's listings and outputs."""

    def __init__(self, page):
        self.blocks = []
        for block in page.blocks:
            if block.kind != "picture":
                text = "\n".join(page.lines[block.begin:block.end])
                values = {number.value for _, number in numbers_of(text)}
                self.blocks.append((values, text))

    def holds(self, number):
        unit = "" if number.unit in LOOSE else number.unit
        return any(number.value in values and unit in text for values, text in self.blocks)


def prose_of(page):
    """(line, text) of each paragraph, item, row or heading."""
    shown = [False] * len(page.lines)
    for block in page.blocks:
        shown[block.begin - 1:block.end] = [True] * (block.end - block.begin + 1)
    begin, parts, i = 0, [], 0
    while i < len(page.lines):
        line = page.lines[i]
        if directives.FENCE.match(line) or shown[i]:  # a fence of the author's own is prose
            line = "" if shown[i] else line
        if parts and (not line.strip() or re.match(r"\s*([-|>#]|\d+\.) ?", line)):
            yield begin + 1, " ".join(parts)
            parts = []
        if line.strip():
            begin = begin if parts else i
            parts.append(re.sub(r"^\s*\d+\. ", "", line.strip()))
        i += 1
    if parts:
        yield begin + 1, " ".join(parts)


def evaluate(expression):
    """The value of the arithmetic, and the numbers it is made of."""
    tree = ast.parse(expression, mode="eval")
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.Load,
               ast.operator, ast.unaryop)
    for node in ast.walk(tree):
        if not isinstance(node, allowed) or isinstance(node, ast.Name) and node.id not in NAMES:
            raise ValueError(f"'{ast.unparse(node)}' is not arithmetic")
    value = eval(compile(tree, "expression", "eval"), {"__builtins__": {}}, NAMES)  # checked above
    return value, [Decimal(str(node.value)) for node in ast.walk(tree)
                   if isinstance(node, ast.Constant)]


def is_digit_or_power_of_ten(operand):
    return str(operand) in "0123456789" or re.fullmatch(r"10+", str(operand))


def fault_of_expression(number, expression, evidence):
    try:
        value, operands = evaluate(expression)
    except (SyntaxError, ValueError, ZeroDivisionError) as error:
        return f"{number.shown()} is beside an expression that cannot be evaluated: {error}"
    rounded = Decimal(f"{value:.{number.decimals}f}")
    if rounded != number.value:
        return f"{number.shown()} should be {rounded}: {expression}"
    for operand in operands:
        known = any(operand in values for values, _ in evidence.blocks)
        if not (known or is_digit_or_power_of_ten(operand)):
            return f"{operand}, in {expression}, is in none of the chapter's listings and outputs"
    return None


def faults_of(page, sources):
    """(line, what is wrong) of every number that nothing on the page accounts for."""
    evidence = Evidence(page)
    for line, text in prose_of(page):
        text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"^\*Needs: .*", "", text))
        for sentence in SENTENCE_END.split(text):
            sourced = not sources.isdisjoint(TAG.findall(sentence))
            visible = re.sub(r"<!--.*?-->", lambda m: " " * len(m.group()), sentence)
            for match, number in numbers_of(visible):
                expression = EXPRESSION.match(sentence, number.end)
                if expression:
                    fault = fault_of_expression(number, expression[1], evidence)
                    if fault:
                        yield line, fault
                elif not (number.is_small() or evidence.holds(number) or sourced):
                    yield line, (f"{number.shown()} is in none of the chapter's listings and outputs, "
                                 "and its sentence names no source")
