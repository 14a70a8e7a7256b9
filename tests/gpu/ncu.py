"""What a GPU counts, by ncu: a list of kernels, each a dict of its metrics and its SASS opcodes."""
import csv
import io
import re
import subprocess
import sys
import tempfile

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
# Hardware's and SASS's counters. Columns of a report such as device__attribute_… are none.
METRIC = re.compile(r"(l1tex|lts|sm|smsp|sass)__")


def number(text):
    """6 of "6", of "6 (0: 6)" with a metric's instances, of "1,006"."""
    return float(text.split(" (")[0].replace(",", ""))


def opcodes(cell):
    """{"MUFU.EX2": 12, …} of "34 (MUFU.EX2: 12; LDS.128: 22)"; {} if there is no such list in it."""
    pairs = re.findall(r"([A-Z][A-Za-z0-9_.]*)\"?\s*[:=]\s*(\d[\d,]*\d|\d)", cell)
    return {name: number(value) for name, value in pairs}


def parse(text):
    """The kernels in what `ncu --csv --page raw` prints, in their order."""
    rows = csv.DictReader(io.StringIO(text[text.index('"ID"'):]))
    return [{"kernel": row["Kernel Name"],
             "metrics": {m: number(row[m]) for m in row if METRIC.match(m) and m != OPCODES and row[m]},
             "opcodes": opcodes(row.get(OPCODES) or "")}
            for row in rows if row["ID"]]  # the row below the names has the units


def run(command, metrics, options):
    """Whether ncu took the metrics, and what it said."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as log:
        ncu = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--print-metric-instances", "details", "--log-file", log.name,
               "--metrics", ",".join(metrics), *options, *command]
        done = subprocess.run(ncu, capture_output=True, text=True)
        text = open(log.name, encoding="utf-8").read()
    if done.returncode == 0 and '"ID"' in text:
        return True, text
    return False, f"{' '.join(ncu)}\n{text}{done.stdout}{done.stderr}"


def profile(command, metrics, options=()):
    """Runs a program under ncu. A metric that this ncu does not know is named and left out: what it would
    have counted is then missing from a sum, and shows. Ends the process if ncu fails otherwise."""
    metrics = list(metrics)
    while True:
        well, text = run(command, metrics, options)
        if well:
            break
        unknown = re.findall(r"[Ff]ailed to find metric (?:regex:)?\^?([\w.]+)", text)
        known = [m for m in metrics if not any(m.startswith(u) for u in unknown)]
        if known == metrics or not known:
            sys.exit(text)
        print("unknown to ncu:", *sorted(set(metrics) - set(known)), file=sys.stderr)
        metrics = known
    kernels = parse(text)
    if OPCODES in metrics and not any(kernel["opcodes"] for kernel in kernels):
        sys.exit(f"no opcodes in what ncu says of {OPCODES}:\n{text[:4000]}")
    return kernels
