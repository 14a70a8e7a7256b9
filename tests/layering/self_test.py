"""layering.py must find every planted violation, and nothing else."""
import os
import sys
import tempfile

import layering

# path: (text, the violations it must cause)
PLANTED = {
    # Allowed, in every way an include can be written.
    "cpu_reference/problem.h": ("#include <stdint.h>\n", []),
    "cpu_reference/a.hpp": ('#include <Eigen/Core>\n#include "cpu_reference/problem.h"\n', []),
    "sim/io/good.cpp": ('#include "cpu_reference/a.hpp"\n#include "sim/io/good.hpp"\n', []),
    "sim/simt/fiber.cpp": ('asm volatile("" ::: "memory");\n', []),
    "cuda/isa/good.cuh": ('#include "sim/simt/fiber.hpp"\n#ifdef __CUDA_ARCH__\nasm("");\n#endif\n', []),
    "cuda/rules/good.cuh": ('#include "cuda/isa/good.cuh"\n#include "cpu_reference/problem.h"\n', []),
    "cuda/forward/good.cuh": ('#include "cuda/rules/good.cuh"\n', []),
    "cuda/forward/launch.hpp": ("", []),
    "cuda/api/good.cpp": ('#include "cuda/forward/launch.hpp"\n', []),
    "tests/unit/good.cpp": ('#include "walkthrough/a.hpp"\n#include "sim/simt/a.hpp"\n', []),
    "walkthrough/good.cpp": ('#include "tests/conformance/a.hpp"\n', []),
    "build/default/generated.cpp": ('#include "anything.hpp"\n', []),
    "cpu_reference/comments.cpp": (
        '// #include "sim/io/a.hpp"\n/* asm\n#include "cuda/api/a.hpp" */\n'
        'const char* s = "asm // __CUDA_ARCH__";\nint asmr, no__CUDACC__;\n', []),
    # Forbidden arrows.
    "cpu_reference/up.cpp": (
        '\n#include "sim/io/a.hpp"\n',
        ["cpu_reference/up.cpp:2: cpu_reference may not include sim/io/a.hpp"]),
    "cpu_reference/beside.cpp": (
        '#include "../tests/unit/good.cpp"\n',
        ["cpu_reference/beside.cpp:1: cpu_reference may not include tests/unit/good.cpp"]),
    "sim/io/angle.cpp": (
        "  #  include <tests/conformance/a.hpp>  // why not\n",
        ["sim/io/angle.cpp:1: sim/io may not include tests/conformance/a.hpp"]),
    "sim/simt/a.hpp": (
        '/* two\nlines */\n#include "cpu_reference/problem.h"\n',
        ["sim/simt/a.hpp:3: sim/simt may not include cpu_reference/problem.h"]),
    "cuda/isa/a.cuh": (
        '#include "cuda/rules/good.cuh"\n',
        ["cuda/isa/a.cuh:1: cuda/isa may not include cuda/rules/good.cuh"]),
    "cuda/rules/a.cuh": (
        '#include "cpu_reference/a.hpp"\n',
        ["cuda/rules/a.cuh:1: cuda/rules may not include cpu_reference/a.hpp"]),
    "cuda/decode/a.cu": (
        '#include "cuda/forward/good.cuh"\n',
        ["cuda/decode/a.cu:1: cuda/decode may not include cuda/forward/good.cuh"]),
    "cuda/api/a.cpp": (
        '#include "cuda/forward/good.cuh"\n',
        ["cuda/api/a.cpp:1: cuda/api may not include cuda/forward/good.cuh"]),
    "tests/conformance/a.cpp": (
        '#include "sim/io/a.hpp"\n',
        ["tests/conformance/a.cpp:1: tests/conformance may not include sim/io/a.hpp"]),
    "cpu_reference/macro.c": (
        "#include PROBLEM\n",
        ["cpu_reference/macro.c:1: includes a macro; name the file"]),
    # Words in the wrong room, and a room nobody knows.
    "sim/simt/b.cpp": (
        "#ifdef __CUDACC__\n#endif\n",
        ["sim/simt/b.cpp:1: __CUDACC__ belongs to cuda/isa"]),
    "cuda/forward/b.cuh": (
        '\n__asm__("ret;");\n#if __CUDA_ARCH__ >= 900\n#endif\n',
        ["cuda/forward/b.cuh:2: __asm__ belongs to cuda/isa and sim/simt",
         "cuda/forward/b.cuh:3: __CUDA_ARCH__ belongs to cuda/isa"]),
    "attic/a.cpp": ("", ["attic/a.cpp:1: in no room; tests/layering/layering.py lists them"]),
}


def main():
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in PLANTED.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        _, found = layering.check(root)

    expected = [violation for _, violations in PLANTED.values() for violation in violations]
    missed, invented = set(expected) - set(found), set(found) - set(expected)
    for violation in sorted(missed):
        print("missed: ", violation)
    for violation in sorted(invented):
        print("invented:", violation)
    print(f"{len(expected)} planted violations, {len(missed)} missed, {len(invented)} invented")
    return 1 if missed or invented else 0


if __name__ == "__main__":
    sys.exit(main())
