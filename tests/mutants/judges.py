"""Who judges a mutant, the cheapest first. A judge is a program of the mutants' build and its arguments; it has
found the mutant if it ends otherwise than with 0, or takes much longer than without one."""
import dataclasses
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

FAST = ['--abort-after=1', '--minimal=1', '--no-colors=1']
SPARE_SECONDS, SLOWER = 3, 5   # a mutant may take this many times as long, and these seconds more
MEMORY = 6 << 30


@dataclasses.dataclass
class Judge:
    name: str
    command: list           # relative to the build
    cpu_seconds: float = 60  # without a mutant; measured
    reached: set = dataclasses.field(default_factory=set)
    programs: list = dataclasses.field(default_factory=list)  # that its own program runs
    fingerprint: str = ''

    def fingerprint_of(self, build):
        """Of the programs, what they are told, and the files it names: the same finds the same."""
        digest = hashlib.sha256()
        for word in self.command + self.programs:
            path = build / word
            digest.update(path.read_bytes() if path.is_file() else word.encode())
        return digest.hexdigest()[:16]

    def run(self, build, number, sites=None):
        """(status, seconds of CPU, what it printed) of this judge on mutant `number`."""
        environment = dict(os.environ, OMP_NUM_THREADS='1', FLASHBOOK_MUTANT=str(number))
        if sites:
            environment['FLASHBOOK_SITES'] = sites
        limit = int(self.cpu_seconds * SLOWER + SPARE_SECONDS)

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.nice(5)

        command = [str(build / self.command[0])] + self.command[1:]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=folder,
                                       preexec_fn=limits, start_new_session=True)
            began = time.monotonic()
            status, usage = wait(process, began + 10 * limit)
            out.seek(0)
            text = out.read(1 << 16).decode(errors='replace')
        return status, usage.ru_utime + usage.ru_stime, text


class Verdicts:
    """What judges said of mutants, in this run and those before it, one JSON a line. A verdict holds as long as the
    judge's programs are what they were, so a run that was ended goes on, and a new test is asked alone."""

    def __init__(self, path):
        self.path, self.known, self.lock = path, {}, threading.Lock()
        for line in path.read_text().splitlines() if path.exists() else []:
            if not line.endswith('}'):
                continue  # a run was ended as it wrote this
            row = json.loads(line)
            self.known[row['judge'], row['mutant']] = row['said']

    def get(self, judge, mutant):
        """The fault the judge found, '' if it found none, None if it was not asked."""
        return self.known.get((judge.fingerprint, mutant['number']))

    def add(self, judge, mutant, said):
        row = {'judge': judge.fingerprint, 'mutant': mutant['number'], 'said': said, 'name': judge.name, 'key': mutant['key']}
        with self.lock, open(self.path, 'a') as out:
            print(json.dumps(row, ensure_ascii=False), file=out)


def wait(process, deadline):
    """Status and resources of a process that is ended at the deadline: one that sleeps uses no CPU time."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            deadline += 1e6
        time.sleep(.005)


def first_words(text, status):
    """What a judge says it found, in one line."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return 'takes too long'
    if status < 0:
        return 'ends by ' + signal.Signals(-status).name
    case = re.search(r'TEST CASE:\s*(.*)', text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (case.group(1) if case else lines[-1] if lines else f'status {status}')[:120]


def judges(earlier_cases=None):
    """All judges. `earlier_cases`: a file with names of cases that are to be run before the others."""

    def random(problems):
        return Judge(f'{problems} random problems', ['tests/mutants/mutant_judge', 'random', str(problems)])

    def test(name, part='', programs=()):
        of = [f'--source-file=*{part}*'] if part else []
        return Judge(part or name, [f'tests/{name}'] + FAST + of, programs=list(programs))

    def io(*parts):
        return [test('io_test', part + '_test') for part in parts]

    def cases(name, one_in, *names):
        return Judge(name, ['tests/mutants/mutant_judge', 'cases', one_in, *names])

    return [
        random(20),
        *([cases('earlier cases', '100', earlier_cases)] if earlier_cases else []),
        *io('io_softmax', 'io_rounding', 'io_forward', 'io_edges', 'added_algorithm', 'io_reports'),
        test('problem_test'), test('reference_test'), test('oracle_test'), test('sim_questions_test'), test('gates_test'),
        *io('io_steps', 'io_nan', 'io_memory', 'sim_machines'),
        random(150),
        cases('one case in 100', '100'),
        *io('io_blocks', 'sim_bounds', 'io_backward', 'io_attention', 'io_counts'),
        test('suite_test'),
        cases('one case in 12', '12'),
        test('visible_test'), test('faults_test'), test('fuzz_test'),
        test('command_test', programs=['walkthrough/flashbook']), test('baselines_test'),
    ]
