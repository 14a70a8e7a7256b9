"""The emulator's counters against a GPU's: compare_counters.py [PROGRAM] [--self-test]

Runs each rung at two sizes on the emulator (`run --on cpu --json`) and once on the GPU under ncu, and
prints a markdown table: counter, emulator, GPU, ratio, verdict. Exit status 1 if a counter differs and
CAUSES does not say why, or by more than the cause explains.
"""
import json
import re
import subprocess
import sys

import ncu

# Rung, pass; and the rungs whose tiles come by TMA.
RUNGS = [("standard", "forward"), ("fa1", "forward"), ("one_pass", "forward"),
         ("tensor_core", "forward"), ("backward/standard", "backward"), ("three_kernel", "backward")]
SIZES = [["--n", "128", "--d", "64"], ["--n", "200", "--d", "64", "--heads", "2", "--causal"]]
TMA_RUNGS = [("tma_wgmma", "forward"), ("warp_specialised", "forward"), ("no_running_maximum", "forward"),
             ("cluster_multicast", "forward"), ("fa3", "forward")]
TMA_SIZES = SIZES + [["--n", "512", "--d", "128", "--heads", "2"]]

GLOBAL = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
SHARED = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"

# Counter -> its value in the emulator's totals, and what adds up to it on the GPU: metrics, or a pattern
# of SASS opcodes. Pipes would not do: xu takes divisions and logarithms, too, tensor_op_hmma conversions.
COUNTERS = {
    "global load, sectors": (lambda t: t["global_load"]["sectors"],
                             [GLOBAL.format("ld"), GLOBAL.format("ldgsts")]),
    "global store, sectors": (lambda t: t["global_store"]["sectors"],
                              [GLOBAL.format("st"), GLOBAL.format("red")]),
    "shared load, wavefronts": (lambda t: t["shared_load"]["wavefronts"],
                                [SHARED.format("ld"), SHARED.format("ldsm")]),
    "shared store, wavefronts": (lambda t: t["shared_store"]["wavefronts"],
                                 [SHARED.format("st"), SHARED.format("ldgsts")]),
    "ldmatrix, instructions": (lambda t: t["ldmatrix"], r"LDSM(\.|$)"),
    "tensor core, instructions": (lambda t: t["mma"], r"HMMA(\.|$)"),
    "exp2, instructions": (lambda t: t["exp2"], r"MUFU\.EX2(\.|$)"),
}
# Of rungs whose tiles come by TMA nothing else reaches L1 from L2.
TMA_COUNTERS = {
    "TMA, bytes into shared memory": (lambda t: t["tma_load_bytes"], ["l1tex__m_xbar2l1tex_read_bytes.sum"]),
    "wgmma, instructions": (lambda t: t["wgmma"], r"HGMMA(\.|$)"),
}
METRICS = [m for counters in (COUNTERS, TMA_COUNTERS) for _, gpu in counters.values() if isinstance(gpu, list)
           for m in gpu] + [ncu.OPCODES]

# (rung, counter) -> why the emulator's count may differ, the least and the most ratio to the GPU's that
# this explains.
CAUSES = {("standard", "global load, sectors"): ("one line, two instructions", 1, 1.001),
          ("backward/standard", "global load, sectors"): ("one line, two instructions", 1, 1.001),
          ("three_kernel", "shared load, wavefronts"): ("four loads, one instruction", 1, 1.002)}


def gpu_value(kernels, gpu):
    """The sum over all kernels. Zero where nobody counted: which differs from what the emulator did."""
    if isinstance(gpu, list):
        return sum(kernel["metrics"].get(m, 0) for kernel in kernels for m in gpu)
    return sum(n for kernel in kernels for name, n in kernel["opcodes"].items() if re.match(gpu, name))


def emulate(program, arguments, which):
    done = subprocess.run([program, "run", *arguments, "--on", "cpu", "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return next(p["totals"] for p in json.loads(done.stdout)["passes"] if p["pass"] == which)


def verdict(rung, counter, emulated, measured, causes):
    """What to say of it, and whether that is well."""
    if emulated == measured:
        return "equal", True
    if (rung, counter) in causes and measured:
        cause, least, most = causes[rung, counter]
        if least <= emulated / measured <= most:
            return cause, True
    return "DIFFERS", False


def rows_of(rung, size, totals, kernels, causes, counters=COUNTERS):
    """Table rows, and whether all is well."""
    rows, well = [], True
    for counter, (value, gpu) in counters.items():
        emulated, measured = value(totals), gpu_value(kernels, gpu)
        if not emulated and not measured:
            continue
        text, good = verdict(rung, counter, emulated, measured, causes)
        ratio = f"{emulated / measured:.4f}" if measured else "–"
        rows.append(f"| {rung} | `{' '.join(size)}` | {counter} | {emulated} | {measured:.0f} | {ratio} | "
                    f"{text} |")
        well = well and good
    return rows, well


def main():
    program = next((a for a in sys.argv[1:] if not a.startswith("--")),
                   "build/portable/walkthrough/flashbook")
    print("| rung | problem | counter | emulator | GPU | ratio | verdict |")
    print("|---|---|---|---|---|---|---|")
    all_well = True
    runs = [(*rung, size, COUNTERS) for rung in RUNGS for size in SIZES]
    runs += [(*rung, size, COUNTERS | TMA_COUNTERS) for rung in TMA_RUNGS for size in TMA_SIZES]
    for rung, which, size, counters in runs:
        kernels = ncu.profile([program, "run", rung, *size, "--on", "gpu", "--once", "--json"],
                              METRICS, ["--profile-from-start", "off"])
        totals = emulate(program, [rung, *size], which)
        rows, well = rows_of(rung, size, totals, kernels, CAUSES, counters)
        print("\n".join(rows), flush=True)
        all_well = all_well and well
    return 0 if all_well else 1


def self_test():
    load, store = GLOBAL.format("ld"), GLOBAL.format("st")
    text = (f'==PROF== Connected\n"ID","Kernel Name","device__attribute_clock_rate","{load}","{store}",'
            f'"{ncu.OPCODES}"\n"","","Hz","sector","sector","inst"\n'
            '"0","forward","7","1,024","0","1,046 (LDSM.16.M88.4: 7; MUFU.EX2: 1,024; MUFU.RCP: 15)"\n'
            '"1","forward","7","976","3","9 (HMMA.16816.F32: 8; HMMA.16816.F32.BF16: 1; HGMMA.64x64x16.F32: 4)"\n')
    kernels = ncu.parse(text)
    assert kernels[0]["metrics"] == {load: 1024, store: 0}, kernels
    assert kernels[0]["opcodes"] == {"LDSM.16.M88.4": 7, "MUFU.EX2": 1024, "MUFU.RCP": 15}, kernels
    assert ncu.opcodes("1,046") == {}
    totals = {"global_load": {"sectors": 2000}, "global_store": {"sectors": 2},
              "shared_load": {"wavefronts": 5}, "shared_store": {"wavefronts": 0},
              "ldmatrix": 8, "mma": 9, "exp2": 1024, "tma_load_bytes": 64, "wgmma": 4}
    causes = {("r", "global store, sectors"): ("rounded", 0.6, 0.7),
              ("r", "ldmatrix, instructions"): ("not enough", 1, 1.1)}
    rows, well = rows_of("r", ["--n", "1"], totals, kernels, causes)
    ends = ["| 2000 | 2000 | 1.0000 | equal |", "| 2 | 3 | 0.6667 | rounded |", "| 5 | 0 | – | DIFFERS |",
            "| 8 | 7 | 1.1429 | DIFFERS |", "| 9 | 9 | 1.0000 | equal |", "| 1024 | 1024 | 1.0000 | equal |"]
    assert not well and len(rows) == len(ends), rows
    assert all(row.endswith(end) for row, end in zip(rows, ends)), rows
    rows, well = rows_of("r", [], totals, [{"metrics": {"l1tex__m_xbar2l1tex_read_bytes.sum": 64},
                                            "opcodes": kernels[1]["opcodes"]}], {}, TMA_COUNTERS)
    assert well and all(row.endswith("equal |") for row in rows) and len(rows) == 2, rows
    assert verdict("other", "global store, sectors", 2, 3, causes) == ("DIFFERS", False)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else main())
