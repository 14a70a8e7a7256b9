"""Where a source can be wrong, and how: every site is one or more mutants and a few insertions that switch
between the right text and the wrong one."""
import dataclasses
import re

from tokens import KEYWORDS, tokens_of

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
LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '>', '<=', '>='], ['<=>'], ['<<', '>>'],
          ['+', '-'], ['*', '/', '%']]
LEVEL = {sign: level for level, signs in enumerate(LEVELS) for sign in signs}
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '|=', '&=', '^=', '<<=', '>>='}
ENDS = {',', ';', '?', ':', 'return', 'throw', 'case', 'co_return'} | ASSIGNMENTS
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


class Source:
    def __init__(self, text):
        self.text, self.tokens = text, tokens_of(text)
        self.fixed = self.find_fixed()
        self.inside = self.find_functions()
        self.sites = []

    # ---- where nothing can be switched: what a compiler must know

    def find_fixed(self):
        fixed = [token.in_template for token in self.tokens]

        def fix(first, last):
            fixed[first:last + 1] = [True] * (last + 1 - first)

        for i, token in enumerate(self.tokens):
            if token.text in ('static_assert', 'requires', 'alignas', 'decltype', 'sizeof') and self.at(i + 1) == '(':
                fix(i, self.tokens[i + 1].partner)
            elif token.text in ('case', 'using', 'extern') or (token.text == 'template' and self.at(i + 1) != '<'
                                                                and self.at(i - 1) not in ('.', '->')):
                fix(i, self.next_of(i, ';', ':') if token.text == 'case' else self.next_of(i, ';'))
            elif token.text == 'constexpr':
                after = self.next_of(i, '(', '=', '{', ';')
                if self.at(i - 1) == 'if':
                    fix(i, self.tokens[i + 1].partner)
                elif self.at(after) != '(':
                    fix(i, self.next_of(after, ';'))
            elif token.text == 'enum':
                fix(i, self.next_of(i, ';'))
            elif token.text == '[' and self.is_bound(i):
                fix(i, token.partner)
            elif self.shows(i):
                fix(i, self.next_of(i, ';'))
        for after, text in self.tokens_after_pragmas():
            if 'omp' in text.split():
                last = self.tokens[after + 1].partner if self.at(after) == 'for' else self.next_of(after, ';')
                fix(after, after if self.at(after) == '{' else last)
        return fixed

    def shows(self, i):
        """Whether a statement that begins here only says or shows something: out << …;  sram.show(…);"""
        words = [self.at(i + k) for k in range(3)]
        return words[:2] == ['out', '<<'] or words[1] == '.' and words[2] in ('show', 'show_scores')

    def tokens_after_pragmas(self):
        for match in re.finditer(r'^[ \t]*#pragma (.*)$', self.text, re.M):
            yield next(i for i, token in enumerate(self.tokens) if token.start > match.end()), match.group(1)

    def is_bound(self, i):
        """The bound of an array that is declared: type name[bound]."""
        before, name = self.at(i - 2), self.tokens[i - 1]
        if self.at(i - 1) == ')' and self.at(self.tokens[i - 1].partner + 1) == '&':
            return True
        typed = self.tokens[i - 2].kind == 'word' and before not in KEYWORDS - {'auto', 'const'}
        pointed = before in ('*', '&') and not self.is_binary(i - 2)
        return name.kind == 'word' and (typed or pointed or self.tokens[i - 2].role == 'template')

    def find_functions(self):
        inside, depth = [], []
        for i, token in enumerate(self.tokens):
            if token.text == '{':
                depth.append(token.role == 'block')
            inside.append(any(depth))
            if token.text == '}':
                depth.pop()
        return inside

    # ---- the text around

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ''

    def next_of(self, i, *texts):
        while self.at(i) not in texts:
            i = i + 1 if self.at(i) not in ('(', '[') or self.at(i) in texts else self.tokens[i].partner + 1
            if i >= len(self.tokens):
                return len(self.tokens) - 1
            if self.at(i) == '{' and '{' not in texts:
                i = self.tokens[i].partner
        return i

    def is_binary(self, i):
        """Space on both sides, and what is before can be an operand."""
        token, before = self.tokens[i], self.tokens[i - 1]
        spaced = self.text[token.start - 1].isspace() and self.text[token.end].isspace()
        operand = (before.kind in ('word', 'number', 'string') and before.text not in KEYWORDS) or \
            before.text in (')', ']', '}') or before.role == 'template'
        return spaced and operand and token.role != 'template'

    def operand(self, i, step, lowest):
        """Index of the farthest token of an operand that binds more tightly than `lowest`, from i on."""
        farthest = i - step
        while 0 <= i < len(self.tokens):
            token = self.tokens[i]
            opens = token.text in ('(', '[', '{') or (token.role == 'template' and token.text == '<')
            closes = token.text in (')', ']', '}') or (token.role == 'template' and token.text == '>')
            if (closes and step > 0) or (opens and step < 0) or token.text in ENDS:
                break
            if token.text in LEVEL and self.is_binary(i) and LEVEL[token.text] < lowest:
                break
            if opens and step < 0 or closes and step > 0:
                break
            if token.text in ('{', '}') and self.tokens[token.partner if token.text == '}' else i].role in (
                    'block', 'type') and not self.is_lambda(token.partner if token.text == '}' else i):
                break
            if opens or closes:
                i = token.partner
            farthest, i = i, i + step
            if step < 0 and self.is_apart(i):
                break
        return farthest

    def is_apart(self, i):
        """Whether an operand begins after token i, though no operator says so: if (…) here, else here."""
        before, after = self.tokens[i], self.tokens[i + 1]
        ends = before.text in (')', 'else', 'do') or (before.kind == 'word' and before.text != 'template')
        begins = after.kind in ('word', 'number') or (after.text in ('*', '(') and not self.is_binary(i + 1))
        return ends and begins and before.end != after.start

    def is_lambda(self, i):
        """A block that belongs to an expression."""
        j = i - 1
        if self.at(j) in ('mutable', 'noexcept'):
            j -= 1
        while self.tokens[j].kind == 'word' or self.at(j) in ('::', '->', '*', '&') or self.tokens[j].role == 'template':
            j = self.tokens[j].partner - 1 if self.at(j) == '>' else j - 1
        if self.at(j) == ')':
            j = self.tokens[j].partner - 1
        return self.at(j) == ']' and not (self.tokens[self.tokens[j].partner - 1].kind == 'word'
                                          and self.at(self.tokens[j].partner - 1) not in KEYWORDS)

    def said(self, first, last):
        return ' '.join(self.text[self.tokens[first].start:self.tokens[last].end].split())

    # ---- the sites

    def find_sites(self):
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
        if callee in ('min', 'max', 'catch'):
            return
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

    # ---- statements

    def is_declaration(self, i):
        """Whether a statement at i declares something: two names side by side, a reference, a keyword."""
        if self.at(i) in KEYWORDS:
            return True
        while True:
            token, after = self.tokens[i], self.tokens[i + 1]
            if token.text in ('<',) and token.role == 'template':
                i = token.partner
                token, after = self.tokens[i], self.tokens[i + 1]
            if token.kind == 'word' or token.role == 'template':
                if after.kind == 'word' or (after.text in ('&', '*', '&&') and not self.text[after.start - 1].isspace()):
                    return True
                if after.text in ('::', '<') and (after.text == '::' or after.role == 'template'):
                    i += 1
                    continue
                return False
            if token.text == '::':
                i += 1
                continue
            return False

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

    def starts_statement(self, i):
        before = self.tokens[i - 1]
        if before.text in (';', 'else', 'do'):
            return not self.in_parentheses(i)
        if before.text == '{':
            return before.role == 'block'
        if before.text == '}':
            return self.tokens[before.partner].role in ('block', 'type') and not self.is_lambda(before.partner)
        if before.text == ')':
            head = self.at(before.partner - 1)
            return head in ('if', 'for', 'while') or head == 'constexpr' and self.at(before.partner - 2) == 'if'
        return before.text == ':' and (self.at(i - 2) == 'default' or 'case' in (self.at(i - k) for k in range(2, 7)))

    def in_parentheses(self, i):
        """After a ';' inside the head of a loop or an if."""
        j = i - 1
        while j >= 0 and self.at(j) not in ('{', '(', '['):
            j = self.tokens[j].partner if self.at(j) in (')', '}', ']') else j
            j -= 1
        return self.at(j) == '('


def rewritten(text, edits):
    """The text with all edits made."""
    out, position = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.order)):
        out += [text[position:edit.start], edit.text]
        position = max(position, edit.end)
    return ''.join(out) + text[position:]
