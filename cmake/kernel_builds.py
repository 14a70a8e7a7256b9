"""Writes what a build made of each kernel as C++: kernel_builds.py OUT.cpp TOOLKIT [OBJECT…]

OBJECT is …/cuda/ROOM/CMakeFiles/…/NAME.cu.o, which keep_ptx.sh compiled. A kernel's fingerprint is the
SHA-256 of its PTX without what does not change the code: comments, debug information, empty lines,
and the hash of the file's path in internal names. `--self-test` shows that it is so.
"""
import glob
import hashlib
import os
import re
import sys

DEBUG = re.compile(r"\s*\.(loc|file)\b")
INTERNAL = re.compile(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_(\d+_\w+?_cu)_[0-9a-f]{8}")
FUNCTION = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")


def normalised(ptx):
    """The code alone: equal for two builds of the same source by one toolkit."""
    ptx = re.sub(r"/\*.*?\*/", "", ptx, flags=re.DOTALL)
    lines, in_section = [], False
    for line in ptx.splitlines():
        line = re.sub(r"//.*", "", line).strip()
        if line.startswith(".section"):
            in_section = True  # .section .debug_… { … }
        if in_section:
            in_section = "}" not in line
            continue
        if line and not DEBUG.match(line):
            lines.append(INTERNAL.sub(r"\1\2", line))
    return "\n".join(lines) + "\n"


def fingerprint(ptx):
    return hashlib.sha256(normalised(ptx).encode()).hexdigest()


def target_of(ptx):
    return re.search(r"^\.target\s+(\w+)", ptx, re.MULTILINE).group(1)


def number_before(what, text):
    found = re.search(r"(\d+) " + what, text)
    return int(found.group(1)) if found else 0


def resources(said):
    """(entry, target, registers, static shared bytes, spill stores, spill loads) of each function."""
    starts = list(FUNCTION.finditer(said))
    for start, end in zip(starts, [m.start() for m in starts[1:]] + [len(said)]):
        text = said[start.end():end]
        used = re.search(r"Used (\d+) registers", text)
        yield (start.group(1), start.group(2), int(used.group(1)) if used else 0,
               number_before("bytes smem", text), number_before("bytes spill stores", text),
               number_before("bytes spill loads", text))


def kernel_of(path):
    """"forward/one_pass"."""
    return re.search(r"cuda/(\w+)/CMakeFiles/", path).group(1) + "/" + \
        os.path.basename(path).split(".")[0]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def table(objects, toolkit):
    prints, used = [], []
    for path in objects:
        kernel = kernel_of(path)
        for ptx in sorted(glob.glob(glob.escape(path + ".ptx") + "/*.ptx")):
            text = read(ptx)
            prints.append(f'    {{"{kernel}", "{target_of(text)}", "{fingerprint(text)}"}},')
        for entry, target, *numbers in resources(read(path + ".ptxas")):
            numbers = ", ".join(map(str, numbers))
            used.append(f'    {{"{kernel}", "{entry}", "{target}", {numbers}}},')
    return "\n".join([
        "// Written by cmake/kernel_builds.py.",
        '#include "walkthrough/receipts/kernel_builds.hpp"', "",
        "namespace flashbook::receipts {", "",
        "const KernelBuilds& kernel_builds() {",
        "  static const KernelBuilds builds = {", f'    "{toolkit}",',
        "    {", *prints, "    },", "    {", *used, "    }};",
        "  return builds;", "}", "", "}  // namespace flashbook::receipts", ""])


def self_test():
    ptx = """//
// Cuda compilation tools, release 13.0, V13.0.88
.version 9.0
.target sm_90a
\t.loc\t1 23 4
\tadd.s32 \t%r1, %r2, 3; // begin inline asm
/* two
lines */
.global .b8 _ZN34_INTERNAL_83c84f9f_4_t_cu_a51febbb1a1qE[16];
.file\t1 "/home/one/t.cu"
.section .debug_str
{
.b8 116
}
"""
    same = ptx.replace("V13.0.88", "V13.0.99").replace("23 4", "77 1").replace("83c84f9f", "00000000") \
        .replace("a51febbb", "11111111").replace("one/t.cu", "two/t.cu").replace("116", "117") \
        .replace("// begin inline asm", "").replace("two\nlines", "one line")
    assert same != ptx and fingerprint(same) == fingerprint(ptx)
    for old, new in (("%r2, 3", "%r2, 4"), ("add.s32", "sub.s32"), ("sm_90a", "sm_80"), ("[16]", "[8]")):
        assert fingerprint(ptx.replace(old, new)) != fingerprint(ptx), old
    assert target_of(ptx) == "sm_90a"
    said = """ptxas info    : Compiling entry function '_Z1kv' for 'sm_80'
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 96 registers, used 1 barriers, 1024 bytes smem, 568 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1zv' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
"""
    assert list(resources(said)) == [("_Z1kv", "sm_80", 96, 1024, 16, 24), ("_Z1zv", "sm_90a", 10, 0, 0, 0)]
    assert kernel_of("cuda/forward/CMakeFiles/cuda_forward_gpu.dir/one_pass.cu.o") == "forward/one_pass"
    print("kernel_builds: passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    target, *built = sys.argv[1:]
    toolkit, objects = (built[0], built[1:]) if built else ("", [])  # without nvcc
    with open(target, "w", encoding="utf-8") as out:
        out.write(table(objects, toolkit))


if __name__ == "__main__":
    main()
