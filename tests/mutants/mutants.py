#!/usr/bin/env python3
"""Mutants of cpu_reference and sim/io, and whether the tests see them (docs/mutants.md).

  mutants.py build        writes the project with all mutants to build/mutants, and builds it and the judges
  mutants.py run          judges them, and prints the scores; exit status 1 if one survives that justified.txt
                          does not name, or if a line there is stale
  mutants.py write FILES  some sources with their mutants, for the sample of every test run
  mutants.py sample       judges a hundred of those, and all that are planted, by the two cheapest judges: all must be
                          found but for those of justified.txt and slower.txt
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
from judges import Judge, Verdicts, first_words, judges  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = '-std=c++20 -w -Wno-narrowing -include'
TARGETS = ['mutant_judge', 'problem_test', 'reference_test', 'oracle_test', 'gates_test', 'sim_questions_test', 'io_test',
           'visible_test', 'faults_test', 'suite_test', 'baselines_test', 'fuzz_test', 'command_test']


def write(folder, files):
    """Some sources with their mutants, for the sample of tests/CMakeLists.txt."""
    from tree import switched_sources, write_sources
    texts, mutants = switched_sources(ROOT, files)
    write_sources(folder / 'source', texts, mutants)
    for file in texts:
        (folder / 'source' / file).touch()  # a build wants what it makes to be newer than what it is made of


def build(arguments):
    from tree import write_tree  # needs the sources; running does not
    source, target = arguments.folder / 'source', arguments.folder / 'build'
    mutants = write_tree(ROOT, source)
    header = source / 'tests/mutants/mutation.hpp'
    configured = target / 'build.ninja'
    if not configured.exists():
        subprocess.run(['cmake', '-S', source, '-B', target, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release',
                        '-DFLASHBOOK_CUDA=OFF', '-DFLASHBOOK_WERROR=OFF', f'-DCMAKE_CXX_FLAGS={FLAGS} {header}',
                        '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -D_GLIBCXX_ASSERTIONS'], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(['cmake', '--build', target, '--target'] + TARGETS, check=True)
    print(f'{len(mutants)} places to be wrong, in {target}')


class Run:
    def __init__(self, folder, all_judges):
        self.folder, self.build, self.judges = folder, folder / 'build', all_judges
        self.mutants = json.loads((folder / 'source/mutants.json').read_text())
        self.compiled = set()
        self.verdicts = Verdicts(folder / 'verdicts.jsonl')

    def measure(self, judge):
        """Runs the judge without a mutant: it must find nothing. Notes what it reaches and its time."""
        if not (self.build / judge.command[0]).exists():
            print(f'left out: {judge.name}, which was not built')
            return False
        judge.fingerprint = judge.fingerprint_of(self.build)
        sites = self.folder / f'sites.{judge.fingerprint}'
        if not sites.exists() and not self.note_sites(judge, sites):
            return False
        seconds, *lines = sites.read_text().splitlines()
        judge.cpu_seconds = float(seconds)
        for number, reached in (map(int, line.split()) for line in lines):
            self.compiled.add(number)
            if reached:
                judge.reached.add(number)
        return True

    def note_sites(self, judge, sites):
        judge.cpu_seconds = 300
        with tempfile.NamedTemporaryFile('r', dir=self.folder) as written:
            status, seconds, text = judge.run(self.build, -1, written.name)
            if status != 0:
                print(f'left out: {judge.name} fails without any mutant: {first_words(text, status)}\n{text[-2000:]}')
                return False
            sites.write_text(f'{seconds}\n{written.read()}')
        return True

    def judge_all(self, mutants, jobs, minutes):
        """One judge after the other, each on those that nobody found yet; returns those that the time sufficed for.
        mutant['found']: who found it and what they said, or None."""
        end = time.monotonic() + 60 * minutes
        left = mutants
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool, \
                concurrent.futures.ThreadPoolExecutor(min(jobs, 2)) as measuring:
            for judge, fit in [(judge, measuring.submit(self.measure, judge)) for judge in self.judges]:
                if not fit.result():
                    continue
                began = time.monotonic()
                asked = [m for m in left if m['number'] in judge.reached]
                for mutant, verdict in zip(asked, pool.map(lambda m: self.judge_one(judge, m, end), asked)):
                    mutant.update(verdict)
                left = [m for m in left if not m.get('found') and not m.get('unjudged')]
                print(f'{judge.name}: {judge.cpu_seconds:.1f} s; {len(asked)} asked, {sum(1 for m in asked if m.get("found"))} found, '
                      f'{len(left)} left, {time.monotonic() - began:.0f} s', flush=True)
        judged = [m for m in mutants if m['number'] in self.compiled and not m.get('unjudged')]
        for mutant in judged:
            mutant.setdefault('found', None)
        return judged

    def judge_one(self, judge, mutant, end):
        said = self.verdicts.get(judge, mutant)
        if said is None:
            if time.monotonic() > end:
                return {'unjudged': judge.name}
            status, _, text = judge.run(self.build, mutant['number'])
            said = first_words(text, status) if status != 0 else ''
            self.verdicts.add(judge, mutant, said)
        return {'found': [judge.name, said]} if said else {}


def line_of(key):
    """The key of all mutants of its line."""
    return key.rsplit(' | ', 1)[0] + ' | *'


def keys_of(mutants):
    """Their keys, and those of their lines."""
    return {key for m in mutants for key in (m['key'], line_of(m['key']))}


def is_excused(mutant, reasons):
    return mutant['found'] is None and (mutant['key'] in reasons or line_of(mutant['key']) in reasons)


def justified(list_of='justified.txt'):
    """key → reason; a key that ends with * stands for all mutants of its line."""
    reasons, reason = {}, ''
    for line in (HERE / list_of).read_text().splitlines():
        if line.startswith('# '):
            reason = line[2:]
        elif line.strip():
            reasons[line] = reason
    return reasons


def scores(mutants, reasons, by):
    """Rows: what, mutants, found, justified."""
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for mutant in mutants:
        for name in (mutant[by], 'all'):
            row = rows[name]
            row[0] += 1
            row[1] += mutant['found'] is not None
            row[2] += is_excused(mutant, reasons)
    return sorted(rows.items(), key=lambda each: (each[0] == 'all', each[0]))


def print_scores(mutants, reasons):
    for by in ('file', 'kind'):
        print(f'| {by} | mutants | found | justified | left |\n|---|---|---|---|---|')
        for name, (total, found, excused) in scores(mutants, reasons, by):
            print(f'| {name} | {total} | {found} | {excused} | {total - found - excused} |')
        print()
    finders = collections.Counter(m['found'][0] for m in mutants if m['found'])
    print('| found first by | mutants |\n|---|---|')
    for name, count in finders.most_common():
        print(f'| {name} | {count} |')


def verdict(mutants, reasons, known):
    """Prints who is left and what is stale; returns the exit status."""
    left = [m['key'] for m in mutants if m['found'] is None and not is_excused(m, reasons)]
    found = keys_of(mutants) - keys_of(m for m in mutants if m['found'] is None)
    stale = [key for key in reasons if key in found or key not in known]
    for key in left:
        print(f'survives: {key}')
    for key in stale:
        print(f'stale: {key}')
    if not mutants:
        print('no mutant was judged')
    return 1 if left or stale or not mutants else 0


def chosen_mutants(run, arguments):
    mutants = [m for m in run.mutants if arguments.file in m['file']]
    if arguments.only:
        only = set(arguments.only.read_text().splitlines())
        mutants = [m for m in mutants if m['key'] in only]
    random.Random(arguments.seed).shuffle(mutants)  # so that jobs are alike, and a part is a sample
    return mutants[:arguments.sample]


def run_all(arguments):
    wanted = arguments.judges.split(',') if arguments.judges else None
    run = Run(arguments.folder, [j for j in judges(arguments.cases) if not wanted or j.name in wanted])
    began = time.monotonic()
    judged = run.judge_all(chosen_mutants(run, arguments), arguments.jobs, arguments.minutes)
    print_scores(judged, justified())
    print(f'{len(judged)} mutants judged in {time.monotonic() - began:.0f} s')
    return verdict(judged, justified(), keys_of(run.mutants))


SAMPLE = 100


def drawn(mutants):
    """The same of the same lines, whatever becomes of the others: whoever edits a line draws for that line alone."""
    return sorted(mutants, key=lambda m: zlib.crc32(m['key'].encode()))[:SAMPLE]


def run_sample(arguments):
    program = str(arguments.program)
    run = Run(arguments.folder, [Judge('random problems', [program, 'random', '150']),
                                 Judge('a few cases of the suite', [program, 'cases', '100'])])
    planted = [m for m in run.mutants if m['kind'] == 'planted']
    sample = drawn([m for m in run.mutants if m['kind'] != 'planted'])
    judged = run.judge_all(planted + sample, arguments.jobs, arguments.minutes)
    print(f'{sum(1 for m in judged if m["found"])} of {len(judged)} found, {len(planted)} of them planted')
    files = {m['file'] for m in run.mutants}
    reasons = {key: reason for key, reason in [*justified().items(), *justified('slower.txt').items()]
               if key.split(' | ')[0] in files}
    return verdict(judged, reasons, keys_of(run.mutants))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('verb', choices=['build', 'run', 'write', 'sample'])
    parser.add_argument('files', nargs='*', help='write: the sources')
    parser.add_argument('--folder', type=pathlib.Path, default=ROOT / 'build/mutants')
    parser.add_argument('--program', type=pathlib.Path, help='sample: the judge that holds the mutants')
    parser.add_argument('--file', default='', help='only mutants of sources whose path holds this')
    parser.add_argument('--only', type=pathlib.Path, help='a file of the keys of the only mutants to judge')
    parser.add_argument('--sample', type=int, help='only so many, drawn by --seed')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='side by side; default: one a processor')
    parser.add_argument('--minutes', type=float, default=120, help='who is not judged by then is left out')
    parser.add_argument('--judges', default='', help='names of the only judges, separated by commas')
    parser.add_argument('--cases', help='a file of names of cases to run before the others')
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    if arguments.verb == 'write':
        return write(arguments.folder, arguments.files)
    return {'build': build, 'run': run_all, 'sample': run_sample}[arguments.verb](arguments)


if __name__ == '__main__':
    sys.exit(main())
