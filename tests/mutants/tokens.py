"""C++ as tokens, with what brackets and statements are. It leans on the sources being formatted (a test
says they are): a binary operator has space on both sides, a template's bracket follows its name."""
import re

PATTERN = re.compile(r'''
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<string>(?:u8|u|U|L)?R"(?P<end>[^(]*)\(.*?\)(?P=end)"|(?:u8|u|U|L)?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
  | (?P<number>0[xX][0-9a-fA-F.']+(?:[pP][+-]?\d+)?[uUlLfF]*|(?:\d[\d']*\.?[\d']*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|<=>|\.\.\.|->\*?|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||::|[-+*/%&|^]=|.)
''', re.X | re.S | re.M)

KEYWORDS = set('''if else for while do switch case default return break continue using static const constexpr
auto typename template try catch throw public private protected class struct enum union namespace inline
virtual explicit operator new delete sizeof friend mutable typedef static_assert goto'''.split())
OPENING, CLOSING = {'(': ')', '[': ']', '{': '}'}, {')', ']', '}'}


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)
        self.partner = None      # index of the other bracket
        self.in_template = False  # between < and >
        self.role = ''           # of '{': block, values, type; of '<', '>': template

    def __repr__(self):
        return self.text


def tokens_of(text):
    tokens = []
    for match in PATTERN.finditer(text):
        kind = match.lastgroup if match.lastgroup != 'end' else 'string'
        if kind not in ('skip', 'directive'):
            tokens.append(Token(kind, match.group(), match.start()))
    tokens = pair_brackets(tokens)
    find_roles(tokens)
    return tokens


def pair_brackets(tokens):
    """Partners of brackets, templates' too; a >> that closes two is taken apart."""
    found, open_ = [], []
    for token in tokens:
        parts = [token]
        if token.text == '>>' and open_ and found[open_[-1]].text == '<':
            parts = [Token('sign', '>', token.start), Token('sign', '>', token.start + 1)]
        for part in parts:
            before = found[-1] if found else None
            index = len(found)
            found.append(part)
            if part.text in OPENING or opens_template(part, before):
                open_.append(index)
            elif part.text in CLOSING or (part.text == '>' and open_ and found[open_[-1]].text == '<'):
                first = open_.pop()
                part.partner, found[first].partner = first, index
                if part.text == '>':
                    part.role = found[first].role = 'template'
            part.in_template = any(found[i].text == '<' for i in open_)
    assert not open_, [found[i].start for i in open_]
    return found


def opens_template(token, before):
    return token.text == '<' and before is not None and (before.text == 'template' or (
        before.kind == 'word' and before.end == token.start and before.text != 'operator'))


def find_roles(tokens):
    for i, token in enumerate(tokens):
        if token.text == '{':
            token.role = role_of(tokens, i)


def role_of(tokens, i):
    """What a '{' opens: a block of statements, values, or a type or namespace."""
    j = i - 1
    while j >= 0 and tokens[j].text not in (';', '{', '}') and not (
            tokens[j].text == ':' and tokens[j - 1].text in ('public', 'private', 'protected')):
        if tokens[j].text in ('class', 'struct', 'enum', 'union', 'namespace') and not tokens[j].in_template:
            head = [t.text for t in tokens[j:i]]
            if '(' not in head and '=' not in head:
                return 'enum' if tokens[j].text == 'enum' or 'enum' in head else 'type'
        j = tokens[j].partner - 1 if tokens[j].text in (')', ']') else j - 1
    before = tokens[i - 1].text if i else ';'
    if before == ':' and in_head(tokens, i):
        return 'values'
    if before in (')', 'else', 'do', 'try', 'noexcept', 'override', 'mutable', ';', '{', '}', ']', ':'):
        if before == '{' and tokens[i - 1].role != 'block':
            return 'values'
        return 'block' if not (before == ']' and is_array(tokens, i)) else 'values'
    if before == 'const' and tokens[i - 2].text == ')':
        return 'block'
    return 'block' if returns_type(tokens, i) or initialises(tokens, i) else 'values'


def in_head(tokens, i):
    """for (x : {…})"""
    j = i - 1
    while j >= 0 and tokens[j].text not in ('(', '{', ';'):
        j = tokens[j].partner - 1 if tokens[j].text in (')', ']', '}') else j - 1
    return tokens[j].text == '('


def is_array(tokens, i):
    """name[4]{…}, and no lambda without parameters."""
    first = tokens[i - 1].partner
    return tokens[first - 1].kind == 'word' and tokens[first - 1].text != 'return'


def returns_type(tokens, i):
    """…) -> Type {"""
    j = i - 1
    while j > 0 and (tokens[j].kind == 'word' or tokens[j].text in ('::', '*', '&') or tokens[j].role == 'template'):
        j = tokens[j].partner - 1 if tokens[j].text == '>' else j - 1
    return tokens[j].text == '->' and tokens[j - 1].text == ')'


def initialises(tokens, i):
    """…) : a_{x} {  (the last initialiser in braces)"""
    return tokens[i - 1].text == '}'
