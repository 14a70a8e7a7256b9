"""The emulator's rule for wavefronts of shared memory against a GPU: compare_wavefronts.py PROGRAM

PROGRAM is shared_wavefronts, which launches one warp's access after another. Prints a markdown table of
patterns, 4, 8 and 16 bytes a lane, emulator / GPU; exit status 1 if they differ anywhere.
"""
import subprocess
import sys

import ncu

METRIC = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def emulate(program):
    """[(pattern, "load" or "store", bytes, wavefronts)], in the order of the launches."""
    done = subprocess.run([program, "--on-emulator"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(name, access, int(size), int(count)) for name, access, size, count in rows]


def table(emulated, measured):
    """Lines of the table, and how many cells differ."""
    cells, differ = {}, 0
    for (name, access, size, count), gpu in zip(emulated, measured, strict=True):
        same = count == gpu
        differ += not same
        cells.setdefault((access, name), {})[size] = f"{count} / {gpu:.0f}" + ("" if same else " DIFFERS")
    lines = ["| access | pattern | 4 bytes | 8 bytes | 16 bytes |", "|---|---|---|---|---|"]
    lines += [f"| {access} | {name} | {of[4]} | {of[8]} | {of[16]} |" for (access, name), of in cells.items()]
    return lines, differ


def main():
    program = sys.argv[1]
    emulated = emulate(program)
    metrics = {"load": METRIC.format("ld"), "store": METRIC.format("st")}
    kernels = ncu.profile([program], list(metrics.values()))
    measured = [kernel["metrics"].get(metrics[row[1]], -1) for row, kernel in
                zip(emulated, kernels, strict=True)]
    lines, differ = table(emulated, measured)
    print("\n".join(lines))
    print(f"\n{len(emulated)} accesses, {differ} of them differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
