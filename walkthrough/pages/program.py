"""The program, run for the pages: each command once, several at a time, always with the same terminal."""
import concurrent.futures
import os
import subprocess
import tempfile

TIMEOUT_S = 600  # what takes seconds takes minutes under sanitizers on a busy machine


class Program:
    def __init__(self, path, root):
        self.path, self.root = path, root
        self.results, self.pictures = {}, {}

    def prepare(self, commands):
        """Runs the (words, writes a picture) that have not been run."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for words, picture in set(commands):
                store = self.pictures if picture else self.results
                store[words] = pool.submit(self.draw if picture else self.run, words)

    def result(self, words):
        """(exit status, what it printed on either stream)"""
        return self.results[words].result()

    def picture(self, words):
        """(exit status, what it printed, the SVG file's text)"""
        return self.pictures[words].result()

    def run(self, words):
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "FLASHBOOK_COMMAND": "./book"}
        done = subprocess.run([self.path, *words], cwd=self.root, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
        return done.returncode, done.stdout

    def draw(self, words):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "picture.svg")
            status, printed = self.run((*words, "--svg", file))
            if not os.path.exists(file):
                return status or 1, printed, ""
            with open(file, encoding="utf-8") as svg:
                return status, printed, svg.read()
