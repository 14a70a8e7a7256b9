"""Writes the project again with every site of the chosen sources switched: one build holds all mutants."""
import json
import pathlib
import re
import shutil

from planted import PLANTED
from sites import Mutant, Site, Sites, rewritten

# What computes. Not in: interfaces and errors (no statements), the .npy reader (it has a fuzzer), what only shows or
# records a run (trace, steps), and the data sheets of machines.
FOLDERS = ['cpu_reference', 'sim/io', 'sim/io/closed_form']
LEFT_OUT = {'npy.cpp', 'npy.hpp', 'error.hpp', 'implementation.hpp', 'trace.cpp', 'trace.hpp', 'steps.cpp', 'steps.hpp',
            'machines.cpp', 'machines.hpp'}
NUMBERS = 512  # of each file: a change of one leaves the others' numbers, and their objects, as they are
COPIED = ['CMakeLists.txt', 'CMakePresets.json', 'LICENSE', 'README.md', 'CONTRIBUTING.md', 'book', '.clang-format',
          '.clang-tidy', 'cmake', 'cpu_reference', 'cuda', 'docs', 'sim', 'tests', 'walkthrough']


def sources(root):
    """Paths, relative to the root, of the sources that get mutants."""
    return [str(path.relative_to(root)) for folder in FOLDERS for path in sorted((root / folder).iterdir())
            if path.suffix in ('.cpp', '.hpp') and path.name not in LEFT_OUT]


def planted_sites(file, source):
    """The mistakes of planted.py in this file."""
    text = source.text
    for row in (row for row in PLANTED if row.file == file):
        if text.count(row.find) != 1:
            raise SystemExit(f'planted.py: {row.name}: "{row.find}" must stand once in {file}')
        start = text.index(row.find)
        tokens = [i for i, t in enumerate(source.tokens) if start <= t.start and t.end <= start + len(row.find)]
        switch = '::flashbook::mutation::is<{n}>()'
        opening, closing = (f'{{ if ({switch}) {{ {row.write} }} else {{ ', ' } }') if row.find.endswith(';') else \
            (f'({switch} ? ({row.write}) : (', '))')
        edits = source.around(tokens[0], tokens[-1], opening, closing, outside=2)
        yield Site([Mutant('planted', row.name, start)], edits)


def key_of(file, mutant, text, seen):
    """What names a mutant as long as its line stays the same."""
    first = text.rfind('\n', 0, mutant.start) + 1
    line = ' '.join(text[first:text.find('\n', mutant.start)].split())
    key = f'{file} | {line} | {mutant.change}'
    seen[key] = seen.get(key, 0) + 1
    return key if seen[key] == 1 else f'{key} ({seen[key]})'


def switched(file, text, first):
    """The file's text with all its sites switched, numbered from `first` on, and its mutants."""
    source, edits, mutants, seen = Sites(text), [], [], {}
    for site in source.find() + list(planted_sites(file, source)):
        for edit in site.edits:
            edit.text = edit.text.replace('{n}', str(first + len(mutants)))
        edits += site.edits
        for mutant in site.mutants:
            mutants.append({'number': first + len(mutants), 'file': file, 'kind': mutant.kind,
                            'line': text.count('\n', 0, mutant.start) + 1,
                            'key': key_of(file, mutant, text, seen)})
    return rewritten(text, edits), mutants


def write_if_new(path, text):
    """Leaves an unchanged file its date, so that only what changed is built again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def switched_sources(root, wanted=None):
    """{file: its text, switched} and the mutants, of all sources or of those wanted."""
    chosen = sources(root)
    unknown = ({row.file for row in PLANTED} | set(wanted or [])) - set(chosen)
    if unknown:
        raise SystemExit(f'no mutants are made of {sorted(unknown)}')
    texts, mutants = {}, []
    for n, file in enumerate(chosen):
        if wanted and file not in wanted:
            continue
        texts[file], found = switched(file, (root / file).read_text(), n * NUMBERS)
        assert len(found) <= NUMBERS, file
        mutants += found
    most = int(re.search(r'most = 1 << (\d+)', (root / 'tests/mutants/mutation.hpp').read_text()).group(1))
    assert len(chosen) * NUMBERS <= 1 << most
    return texts, mutants


def write_sources(folder, texts, mutants):
    for file, text in texts.items():
        write_if_new(folder / file, text)
    write_if_new(folder / 'mutants.json', json.dumps(mutants, indent=0, ensure_ascii=False))


def write_tree(root, tree):
    """Copies the project to `tree`, all sites switched; returns the mutants."""
    texts, mutants = switched_sources(root)
    copy_without(root, tree, set(texts))
    write_sources(tree, texts, mutants)
    return mutants


def copy_without(root, tree, left_out):
    for name in COPIED:
        paths = [root / name] if (root / name).is_file() else sorted((root / name).rglob('*'))
        for path in (each for each in paths if each.is_file() and '__pycache__' not in each.parts):
            file = str(path.relative_to(root))
            target = tree / file
            if file in left_out or target.exists() and target.read_bytes() == path.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
