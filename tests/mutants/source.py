"""A source as mutants need it: what a compiler must know, where functions are, how far operands reach, and what
begins a statement."""
import re

from tokens import KEYWORDS, tokens_of

LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '>', '<=', '>='], ['<=>'], ['<<', '>>'],
          ['+', '-'], ['*', '/', '%']]
LEVEL = {sign: level for level, signs in enumerate(LEVELS) for sign in signs}
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '|=', '&=', '^=', '<<=', '>>='}
ENDS = {',', ';', '?', ':', 'return', 'throw', 'case', 'co_return'} | ASSIGNMENTS


class Source:
    def __init__(self, text):
        self.text, self.tokens = text, tokens_of(text)
        self.fixed = self.find_fixed()
        self.inside = self.find_functions()

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
        """Whether a statement that begins here only says or shows something: out << …;  sram.show(…);  sram.end_step();"""
        words = [self.at(i + k) for k in range(3)]
        return words[:2] == ['out', '<<'] or words[1] == '.' and words[2] in ('show', 'show_scores', 'end_step')

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
