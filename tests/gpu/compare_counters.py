"""The emulator's counters against a GPU's: compare_counters.py [PROGRAM] [--self-test]

Runs each rung at two sizes on the emulator (`run --on cpu --json`) and once on the GPU under ncu, and
prints a markdown table: counter, emulator, GPU, ratio, verdict. Exit status 1 if a counter differs by
more than 2 % and CAUSES does not say why.
"""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile

# Rung, pass.
RUNGS = [("standard", "forward"), ("fa1", "forward"), ("one_pass", "forward"),
         ("tensor_core", "forward"), ("backward/standard", "backward"), ("three_kernel", "backward")]
SIZES = [["--n", "128", "--d", "64"], ["--n", "200", "--d", "64", "--heads", "2", "--causal"]]

# Counter -> its value in the emulator's totals, the GPU's metrics that add up to it. A metric that this
# ncu does not know is left out; of several spellings the first that is known counts.
COUNTERS = {
    "global load, sectors": (lambda t: t["global_load"]["sectors"], [
        ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
        ["l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"]]),
    "global store, sectors": (lambda t: t["global_store"]["sectors"], [
        ["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
        ["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"]]),
    "shared load, wavefronts": (lambda t: t["shared_load"]["wavefronts"], [
        ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
        ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"]]),
    "shared store, wavefronts": (lambda t: t["shared_store"]["wavefronts"], [
        ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
        ["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"]]),
    "ldmatrix, instructions": (lambda t: t["ldmatrix"], [["smsp__inst_executed_op_ldsm.sum"]]),
    "tensor core, instructions": (lambda t: t["mma"], [
        ["sm__inst_executed_pipe_tensor_op_hmma.sum", "smsp__inst_executed_pipe_tensor_op_hmma.sum",
         "sm__inst_executed_pipe_tensor.sum"]]),
    "exp2, instructions": (lambda t: t["exp2"], [["smsp__inst_executed_pipe_xu.sum"]]),
}

# (rung or "*", counter) -> why they may differ.
CAUSES = {}


def known_metrics(rows):
    return {name: sum(float(row[name].replace(",", "")) for row in rows if row.get(name))
            for name in rows[0] if "__" in name} if rows else {}


def parse(text):
    """Sums of the metrics over all kernels in what `ncu --csv --page raw` prints."""
    start = text.index('"ID"')
    rows = list(csv.DictReader(io.StringIO(text[start:])))
    return known_metrics([row for row in rows if row["ID"]])


def profile(program, arguments):
    """The GPU's metrics of one launch; metrics that ncu does not know are dropped."""
    wanted = [m for _, sums in COUNTERS.values() for spellings in sums for m in spellings]
    while True:
        with tempfile.NamedTemporaryFile(suffix=".csv") as log:
            command = ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--csv",
                       "--page", "raw", "--log-file", log.name, "--metrics", ",".join(wanted),
                       program, "run", *arguments, "--on", "gpu", "--once", "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            text = open(log.name, encoding="utf-8").read()
        unknown = re.findall(r"[Ff]ailed to find metric (?:regex:)?\^?([\w.]+)", text + done.stderr)
        unknown = [m for m in wanted if any(m.startswith(u) for u in unknown)]
        if unknown:
            wanted = [m for m in wanted if m not in unknown]
            continue
        if done.returncode or '"ID"' not in text:
            sys.exit(f"{' '.join(command)}\n{text}{done.stdout}{done.stderr}")
        return parse(text)


def emulate(program, arguments, which):
    done = subprocess.run([program, "run", *arguments, "--on", "cpu", "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return next(p["totals"] for p in json.loads(done.stdout)["passes"] if p["pass"] == which)


def gpu_value(metrics, sums):
    """The sum of the first known spelling of each; None if none of them is known."""
    found = [next((metrics[m] for m in spellings if m in metrics), None) for spellings in sums]
    return None if found[0] is None else sum(x for x in found if x is not None)


def verdict(rung, counter, emulated, measured):
    if measured is None:
        return "not measured", True
    if emulated == measured:
        return "equal", True
    cause = CAUSES.get((rung, counter), CAUSES.get(("*", counter)))
    close = measured and abs(emulated / measured - 1) <= 0.02
    if cause:
        return cause, True
    return ("within 2 %" if close else "DIFFERS"), bool(close)


def rows_of(rung, which, size, totals, metrics):
    """Table rows, and whether all is well."""
    rows, well = [], True
    for counter, (value, sums) in COUNTERS.items():
        emulated, measured = value(totals), gpu_value(metrics, sums)
        if not emulated and not measured:
            continue
        text, good = verdict(rung, counter, emulated, measured)
        ratio = f"{emulated / measured:.4f}" if measured else "–"
        shown = "–" if measured is None else f"{measured:.0f}"
        rows.append(f"| {rung} | {' '.join(size)} | {counter} | {emulated} | {shown} | {ratio} | {text} |")
        well = well and good
    return rows, well


def main():
    program = next((a for a in sys.argv[1:] if not a.startswith("--")),
                   "build/portable/walkthrough/flashbook")
    print("| rung | problem | counter | emulator | GPU | ratio | verdict |")
    print("|---|---|---|---|---|---|---|")
    all_well = True
    for rung, which in RUNGS:
        for size in SIZES:
            arguments = [rung, *size]
            rows, well = rows_of(rung, which, size, emulate(program, arguments, which),
                                 profile(program, arguments))
            print("\n".join(rows), flush=True)
            all_well = all_well and well
    return 0 if all_well else 1


def self_test():
    text = ('==PROF== Connected\n"ID","Kernel Name","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",'
            '"smsp__inst_executed_op_ldsm.sum"\n"","","sector","inst"\n'
            '"0","forward","1,024","7"\n"1","forward","976","0"\n')
    metrics = parse(text)
    assert metrics == {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 2000,
                       "smsp__inst_executed_op_ldsm.sum": 7}, metrics
    totals = {"global_load": {"sectors": 2000}, "global_store": {"sectors": 0},
              "shared_load": {"wavefronts": 5}, "shared_store": {"wavefronts": 0},
              "ldmatrix": 8, "mma": 0, "exp2": 0}
    rows, well = rows_of("r", "forward", ["--n", "1"], totals, metrics)
    assert not well and len(rows) == 3, rows
    assert rows[0].endswith("| 2000 | 2000 | 1.0000 | equal |"), rows[0]
    assert rows[1].endswith("| 5 | – | – | not measured |"), rows[1]
    assert rows[2].endswith("| 8 | 7 | 1.1429 | DIFFERS |"), rows[2]
    assert verdict("r", "c", 101, 100) == ("within 2 %", True)
    assert verdict("r", "c", 103, 100) == ("DIFFERS", False)
    assert gpu_value({"b": 1.0}, [["a", "b"], ["c"]]) == 1 and gpu_value({}, [["a"]]) is None
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else main())
