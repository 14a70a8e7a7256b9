"""What the tool takes for a place to be wrong, and what it leaves alone."""
import sys

sys.dont_write_bytecode = True
from sites import Sites, rewritten  # noqa: E402

# source → what each mutant says, in the order of the text
EXPECTED = {
    'int f(int a, int b) { return a < b ? g(a, b) : -a; }':
        ['< → <=', '< → >=', '? → never', '? → always', 'a, b → b, a', '-x → x'],
    'void f(T& x) { if (!x.ok() && y) x.set(2); else x = z; }':
        ['if → never', 'if → always', '!x → x', '&& → ||', '&& → left alone', '&& → right alone',
         'x.set(2); → nothing', '2 → + 1', '2 → - 1', 'x = z; → nothing'],
    'void f() { for (int i = 0; i < n; ++i) s += a[i] * 0.5f; }':
        ['0 → + 1', 'for → never', '< → <=', '< → >=', '+= → -=', 's += a[i] * 0.5f; → nothing',
         '* → /', '* → * 1.01 *', '0.5f → × 1.01'],
    'int f() { return std::max<int>(a.b(), c->d()) % 3; }': ['max → min', '% → /', '3 → + 1', '3 → - 1'],
    # What a compiler must know, declarations, and what is only said.
    'template <int n = 3> constexpr int five = 5; enum E { a = 1, b };': [],
    'int f() { case 3: const auto& x = y; static_assert(n > 2); int v[4]; }': [],
    'void f(A& a) { out << 1 + 2; sram.show("O", O * 2); sram.end_step(); }': [],
    'int f() { return std::max({a, b}); }': [],
    'struct S { virtual int f() const = 0; std::vector<int> v; S(int, int); };': [],
    'void f() {\n#pragma omp atomic\n  x += 1;\n}': [],
}
SWITCHED = {
    'void f() { x = a + b - c; }':
        'void f() { { if (!::flashbook::mutation::is<0>()) { x = ::flashbook::mutation::minus<1>'
        '(::flashbook::mutation::plus<2>(a , b) , c); } } }',
}


def main():
    wrong = []
    for text, expected in EXPECTED.items():
        mutants = [mutant for site in Sites(text).find() for mutant in site.mutants]
        found = [mutant.change for mutant in sorted(mutants, key=lambda each: each.start)]
        if sorted(found) != sorted(expected):
            wrong.append(f'{text}\n  found    {sorted(found)}\n  expected {sorted(expected)}')
    for text, expected in SWITCHED.items():
        edits, numbers = [], {'statement': 0, '-': 1, '+': 2}
        for site in Sites(text).find():
            mutant = site.mutants[0]
            number = numbers[mutant.kind if mutant.kind == 'statement' else mutant.change[0]]
            for edit in site.edits:
                edit.text = edit.text.replace('{n}', str(number))
            edits += site.edits
        if rewritten(text, edits) != expected:
            wrong.append(f'{text}\n  becomes  {rewritten(text, edits)}\n  expected {expected}')
    print('\n'.join(wrong) or 'as expected')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
