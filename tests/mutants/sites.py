"""Where a source can be wrong, and how: every site is one or more mutants and a few insertions that switch
between the right text and the wrong one."""
import dataclasses
import re

from source import ASSIGNMENTS, LEVEL, Source
from tokens import KEYWORDS

# Binary operators: what a site is called in mutation.hpp, and what its mutants say.
OPERATORS = {
    '+': ('plus', ['-']), '-': ('minus', ['+']), '*': ('times', ['/', '* 1.01 *']), '/': ('quotient', ['*']),
    '%': ('remainder', ['/']), '==': ('equal', ['!=']), '!=': ('unequal', ['==']),
    '<': ('less', ['<=', '>=']), '>': ('greater', ['>=', '<=']), '<=': ('at_most', ['<', '>']),
    '>=': ('at_least', ['>', '<']), '&&': ('both', ['||', 'left alone', 'right alone']),
    '||': ('either', ['&&', 'left alone', 'right alone']),
    '+=': ('add_to', ['-=']), '-=': ('subtract_from', ['+=']), '*=': ('multiply', ['/=']),
    '/=': ('divide', ['*=']),
}
SIMPLE = re.compile(r'[A-Za-z_][\w.]*(?:->\w+)*(?:\(\))?|\d+|true|false')


@dataclasses.dataclass
class Mutant:
    kind: str
    change: str  # what the site says → what the mutant says
    start: int   # of the site in the text


@dataclasses.dataclass
class Edit:
    """Text for the characters start … end of the source; of several insertions at one place, closings come
    before openings, and the longer site is outside."""
    start: int
    end: int
    text: str
    order: tuple = (1, 0, 0)


@dataclasses.dataclass
class Site:
    mutants: list
    edits: list  # Edit; {n} in their texts is the first mutant's number


class Sites(Source):
    """All sites of a source."""

    def __init__(self, text):
        super().__init__(text)
        self.sites = []

    def find(self):
        for i, token in enumerate(self.tokens):
            if self.fixed[i]:
                continue
            self.look_at_literal(i)
            if not self.inside[i]:
                continue
            if token.text in OPERATORS and self.is_binary(i):
                self.look_at_operator(i)
            self.look_at_condition(i)
            self.look_at_unary(i)
            self.look_at_extreme(i)
            self.look_at_arguments(i)
        self.find_statements()
        return self.sites

    def add(self, kind, start, changes, edits):
        self.sites.append(Site([Mutant(kind, change, self.tokens[start].start) for change in changes], edits))

    def wrap(self, first, last, name, closing=')', outside=0):
        """`name(` before the tokens first … last, and `closing` after; `outside` of others as long."""
        return self.around(first, last, f'::flashbook::mutation::{name}(', closing, outside)

    def around(self, first, last, opening, closing, outside=0):
        start, end = self.tokens[first].start, self.tokens[last].end
        length, turn = end - start + outside, len(self.sites)
        return [Edit(start, start, opening, (1, -length, turn)), Edit(end, end, closing, (0, length, -turn))]

    def replace(self, first, last, new):
        return Edit(self.tokens[first].start, self.tokens[last].end, new, (2, 0, 0))

    def look_at_operator(self, i):
        sign = self.at(i)
        name, wrong = OPERATORS[sign]
        lowest = -1 if sign in ASSIGNMENTS else LEVEL[sign]
        first, last = self.operand(i - 1, -1, lowest), self.operand(i + 1, 1, lowest + 1)
        if first > i - 1 or last < i + 1:
            return
        lazy = sign in ('&&', '||')
        comma = ', [&]() -> bool { return static_cast<bool>(' if lazy else ','
        edits = self.wrap(first, last, name + '<{n}>', '); })' if lazy else ')')
        edits.append(self.replace(i, i, comma))
        kind = 'assignment' if sign in ASSIGNMENTS else 'comparison' if lowest in (5, 6) else \
            'condition' if lazy else 'arithmetic'
        self.add(kind, i, [f'{sign} → {each}' for each in wrong], edits)

    def look_at_condition(self, i):
        text = self.at(i)
        if text == '?':
            first, last = self.operand(i - 1, -1, 0), i - 1
        elif text in ('if', 'while') and self.at(i + 1) == '(':
            first, last = i + 2, self.tokens[i + 1].partner - 1
            declares = self.next_of(first, ';')
            first = declares + 1 if declares < last else first
        elif text == 'for' and self.at(i + 1) == '(':
            first = self.next_of(i + 2, ';') + 1
            last = self.next_of(first, ';') - 1
            if last < first or last > self.tokens[i + 1].partner:
                return
        else:
            return
        if first > last or self.is_declaration(first):
            return
        loops = text in ('for', 'while')
        changes = [f'{text} → never'] + ([] if loops else [f'{text} → always'])
        self.add('condition', first, changes,
                 self.wrap(first, last, 'condition<{n}, ' + ('false>' if loops else 'true>'), outside=.25))

    def look_at_unary(self, i):
        if self.at(i) not in ('!', '-') or self.is_binary(i) or self.tokens[i].end != self.tokens[i + 1].start:
            return
        last = i + 1
        if self.tokens[last].kind not in ('word', 'number') and self.at(last) != '(':
            return
        if self.at(last) == '(':
            last = self.tokens[last].partner
        while self.at(last + 1) in ('.', '->', '::', '(', '[') or self.tokens[last + 1].role == 'template' and self.at(last + 1) == '<' \
                or (self.at(last) in ('.', '->', '::') and self.tokens[last + 1].kind == 'word'):
            last += 1
            last = self.tokens[last].partner or last
        edits = self.wrap(i, last, ('opposite' if self.at(i) == '!' else 'negated') + '<{n}>')
        self.add('sign', i, [f'{self.at(i)}x → x'], edits + [self.replace(i, i, '')])

    def look_at_literal(self, i):
        token = self.tokens[i]
        if token.kind != 'number' and token.text not in ('true', 'false'):
            return
        if self.at(i - 1) == '=' and self.at(i + 1) == ';' and not self.inside[i] and self.at(i - 2) in (')', 'const'):
            return  # = 0 of a pure virtual function
        if token.kind == 'number':
            inexact = '.' in token.text or 'p' in token.text.lower() and token.text.startswith('0x') or \
                token.text.endswith('f') and not token.text.startswith('0x')
            integer = [] if inexact else [f'{token.text} → + 1']
            if not inexact and int(re.sub(r"[uUlL']", '', token.text), 0) > 0:
                integer.append(f'{token.text} → - 1')
            changes = integer or [f'{token.text} → × 1.01']
        else:
            changes = [f'{token.text} → ' + ('false' if token.text == 'true' else 'true')]
        self.add('literal', i, changes, self.wrap(i, i, 'literal<{n}, ' + ('true>' if len(changes) > 1 else 'false>')))

    def look_at_extreme(self, i):
        if self.at(i) not in ('min', 'max') or self.at(i - 1) != '::' or self.at(i - 2) != 'std' or self.at(i + 2) == '{':
            return
        name = 'least' if self.at(i) == 'min' else 'greatest'
        named = f'::flashbook::mutation::{name}<{{n}}'
        edit = self.replace(i - 2, i + 1, named + ', ') if self.at(i + 1) == '<' else self.replace(i - 2, i, named + '>')
        self.add('extreme', i, ['min → max' if name == 'least' else 'max → min'], [edit])

    def look_at_arguments(self, i):
        token = self.tokens[i]
        if token.text not in ('(', '{') or (token.text == '{' and token.role != 'values') or token.partner is None:
            return
        before = self.tokens[i - 1]
        if token.text == '(' and not (before.kind == 'word' and before.text not in KEYWORDS or before.role == 'template'
                                      or before.text == ')'):
            return
        callee = self.at(before.partner - 1) if before.role == 'template' else before.text
        if callee in ('min', 'max', 'swap', 'catch') or self.at(i - 1) == '(' and self.at(i - 2) in ('min', 'max'):
            return  # the largest of some does not depend on their order
        spans, first = [], i + 1
        j = i + 1
        while j <= token.partner:
            if j == token.partner or self.at(j) == ',':
                spans.append((first, j - 1))
                first = j + 1
            elif self.at(j) in ('(', '[', '{') or self.tokens[j].role == 'template' and self.at(j) == '<':
                j = self.tokens[j].partner
            j += 1
        for (a, b), (c, d) in zip(spans, spans[1:]):
            left, right = [self.text[self.tokens[x].start:self.tokens[y].end] if y >= x else '' for x, y in ((a, b), (c, d))]
            if left == right or not SIMPLE.fullmatch(left) or not SIMPLE.fullmatch(right):
                continue
            edits = []
            for x, y, other in ((a, b, right), (c, d, left)):
                edits += self.wrap(x, y, 'argument<{n}>', f', {other})', outside=.5)
            self.add('arguments', a, [f'{left}, {right} → {right}, {left}'], edits)

    def find_statements(self):
        for i, token in enumerate(self.tokens):
            if not self.inside[i] or self.fixed[i] or not self.starts_statement(i):
                continue
            jumps = token.text in ('continue', 'break', 'throw') or (token.text == 'return' and self.at(i + 1) == ';')
            if not jumps and (token.text in KEYWORDS or token.text in ('{', '}', ';') or self.is_declaration(i)):
                continue
            last = i
            while self.at(last) != ';':
                if self.at(last) in ('(', '[', '{'):
                    last = self.tokens[last].partner
                last += 1
                if self.at(last) in ('}', ''):
                    break
            if self.at(last) != ';' or self.at(i + 1) == ':':
                continue
            self.add('statement', i, [f'{self.said(i, last)} → nothing'],
                     self.around(i, last, '{ if (!::flashbook::mutation::is<{n}>()) { ', ' } }', outside=1))


def rewritten(text, edits):
    """The text with all edits made."""
    out, position = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.order)):
        out += [text[position:edit.start], edit.text]
        position = max(position, edit.end)
    return ''.join(out) + text[position:]
