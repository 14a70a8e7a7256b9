"""Writes wgmma_shapes.cuh: generate_wgmma.py > wgmma_shapes.cuh

One wrapper of wgmma.mma_async.m64nNk16 for each N and each place of A. The instruction names each
accumulator, so no template can write it.
"""
SHAPES = range(8, 257, 8)

HEAD = """\
// Written by generate_wgmma.py: wgmma.mma_async.m64nNk16, fp32 += fp16 or bf16, for every N.
// PTX ISA, "Asynchronous Multiply-and-Accumulate Instruction: wgmma.mma_async". Operands: the
// accumulators, A (a descriptor or four registers), B (a descriptor), whether D is added to, and
// whether B is stored row by row.
// clang-format off
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/isa/types.cuh"

#define FLASHBOOK_D(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

namespace flashbook::gpu::detail {
"""

WRAPPER = """
template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[{registers}], {parameter}, uint64_t B, bool accumulate) {{
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{add}, 0;\\n"
      "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {A}, %{B}, p, 1, 1, {majors};\\n}}"
      : FLASHBOOK_OUTPUTS : {inputs}, "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{add}, 0;\\n"
      "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {A}, %{B}, p, 1, 1, {majors};\\n}}"
      : FLASHBOOK_OUTPUTS : {inputs}, "l"(B), "r"(add), "n"(transposed));
}}
"""


def wrapper(n, in_registers):
    d = n // 2
    words = 4 if in_registers else 1
    B = d + words
    if in_registers:
        A = "{" + ", ".join(f"%{d + i}" for i in range(4)) + "}"
        parameter = "const uint32_t (&a)[4]"
        inputs = ", ".join(f'"r"(a[{i}])' for i in range(4))
        majors = f"%{B + 2}"
    else:
        A, parameter, inputs, majors = f"%{d}", "uint64_t A", '"l"(A)', f"0, %{B + 2}"
    return WRAPPER.format(registers=d, n=n, parameter=parameter, A=A, B=B, add=B + 1, inputs=inputs,
                          majors=majors)


def main():
    print(HEAD, end="")
    for n in SHAPES:
        d = n // 2
        print(f'\n#define FLASHBOOK_ACCUMULATORS "{{{", ".join(f"%{i}" for i in range(d))}}}"')
        print("#define FLASHBOOK_OUTPUTS " + ", ".join(f"FLASHBOOK_D({i})" for i in range(0, d, 4)))
        print(wrapper(n, False), end="")
        print(wrapper(n, True), end="")
        print("\n#undef FLASHBOOK_ACCUMULATORS\n#undef FLASHBOOK_OUTPUTS")
    print("\n}  // namespace flashbook::gpu::detail\n\n#undef FLASHBOOK_D")


if __name__ == "__main__":
    main()
