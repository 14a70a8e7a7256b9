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

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[4], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %4, %5, p, 1, 1, 0, %7;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %4, %5, p, 1, 1, 0, %7;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[4], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%4, %5, %6, %7}, %8, p, 1, 1, %10;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%4, %5, %6, %7}, %8, p, 1, 1, %10;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[8], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %8, %9, p, 1, 1, 0, %11;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %8, %9, p, 1, 1, 0, %11;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[8], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%8, %9, %10, %11}, %12, p, 1, 1, %14;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%8, %9, %10, %11}, %12, p, 1, 1, %14;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[12], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %14, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %12, %13, p, 1, 1, 0, %15;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %14, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %12, %13, p, 1, 1, 0, %15;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[12], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %17, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%12, %13, %14, %15}, %16, p, 1, 1, %18;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %17, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%12, %13, %14, %15}, %16, p, 1, 1, %18;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[16], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %16, %17, p, 1, 1, 0, %19;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %16, %17, p, 1, 1, 0, %19;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[16], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%16, %17, %18, %19}, %20, p, 1, 1, %22;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%16, %17, %18, %19}, %20, p, 1, 1, %22;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[20], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %22, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %20, %21, p, 1, 1, 0, %23;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %22, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n40k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %20, %21, p, 1, 1, 0, %23;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[20], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %25, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%20, %21, %22, %23}, %24, p, 1, 1, %26;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %25, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n40k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%20, %21, %22, %23}, %24, p, 1, 1, %26;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[24], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %26, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %24, %25, p, 1, 1, 0, %27;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %26, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %24, %25, p, 1, 1, 0, %27;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[24], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %29, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%24, %25, %26, %27}, %28, p, 1, 1, %30;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %29, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%24, %25, %26, %27}, %28, p, 1, 1, %30;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[28], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %30, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %28, %29, p, 1, 1, 0, %31;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %30, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %28, %29, p, 1, 1, 0, %31;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[28], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %33, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%28, %29, %30, %31}, %32, p, 1, 1, %34;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %33, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%28, %29, %30, %31}, %32, p, 1, 1, %34;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[32], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %32, %33, p, 1, 1, 0, %35;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %32, %33, p, 1, 1, 0, %35;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[32], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[36], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %38, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n72k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %36, %37, p, 1, 1, 0, %39;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %38, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %36, %37, p, 1, 1, 0, %39;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[36], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %41, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n72k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%36, %37, %38, %39}, %40, p, 1, 1, %42;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %41, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%36, %37, %38, %39}, %40, p, 1, 1, %42;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[40], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %40, %41, p, 1, 1, 0, %43;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %40, %41, p, 1, 1, 0, %43;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[40], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %45, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%40, %41, %42, %43}, %44, p, 1, 1, %46;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %45, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%40, %41, %42, %43}, %44, p, 1, 1, %46;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[44], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %46, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n88k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %44, %45, p, 1, 1, 0, %47;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %46, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n88k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %44, %45, p, 1, 1, 0, %47;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[44], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %49, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n88k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%44, %45, %46, %47}, %48, p, 1, 1, %50;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %49, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n88k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%44, %45, %46, %47}, %48, p, 1, 1, %50;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[48], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %48, %49, p, 1, 1, 0, %51;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %48, %49, p, 1, 1, 0, %51;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[48], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%48, %49, %50, %51}, %52, p, 1, 1, %54;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%48, %49, %50, %51}, %52, p, 1, 1, %54;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[52], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %54, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %52, %53, p, 1, 1, 0, %55;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %54, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n104k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %52, %53, p, 1, 1, 0, %55;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[52], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %57, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%52, %53, %54, %55}, %56, p, 1, 1, %58;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %57, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n104k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%52, %53, %54, %55}, %56, p, 1, 1, %58;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[56], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %58, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %56, %57, p, 1, 1, 0, %59;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %58, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %56, %57, p, 1, 1, 0, %59;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[56], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %61, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%56, %57, %58, %59}, %60, p, 1, 1, %62;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %61, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%56, %57, %58, %59}, %60, p, 1, 1, %62;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[60], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %62, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n120k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %60, %61, p, 1, 1, 0, %63;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %62, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n120k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %60, %61, p, 1, 1, 0, %63;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[60], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %65, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n120k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%60, %61, %62, %63}, %64, p, 1, 1, %66;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %65, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n120k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%60, %61, %62, %63}, %64, p, 1, 1, %66;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[64], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %64, %65, p, 1, 1, 0, %67;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %64, %65, p, 1, 1, 0, %67;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[64], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%64, %65, %66, %67}, %68, p, 1, 1, %70;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%64, %65, %66, %67}, %68, p, 1, 1, %70;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[68], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %70, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n136k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %68, %69, p, 1, 1, 0, %71;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %70, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %68, %69, p, 1, 1, 0, %71;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[68], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %73, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n136k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%68, %69, %70, %71}, %72, p, 1, 1, %74;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %73, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%68, %69, %70, %71}, %72, p, 1, 1, %74;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[72], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %74, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n144k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %72, %73, p, 1, 1, 0, %75;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %74, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n144k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %72, %73, p, 1, 1, 0, %75;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[72], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %77, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n144k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%72, %73, %74, %75}, %76, p, 1, 1, %78;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %77, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n144k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%72, %73, %74, %75}, %76, p, 1, 1, %78;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[76], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %78, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n152k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %76, %77, p, 1, 1, 0, %79;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %78, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n152k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %76, %77, p, 1, 1, 0, %79;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[76], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %81, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n152k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%76, %77, %78, %79}, %80, p, 1, 1, %82;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %81, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n152k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%76, %77, %78, %79}, %80, p, 1, 1, %82;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[80], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %82, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %80, %81, p, 1, 1, 0, %83;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %82, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %80, %81, p, 1, 1, 0, %83;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[80], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %85, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%80, %81, %82, %83}, %84, p, 1, 1, %86;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %85, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%80, %81, %82, %83}, %84, p, 1, 1, %86;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[84], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %86, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n168k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %84, %85, p, 1, 1, 0, %87;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %86, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n168k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %84, %85, p, 1, 1, 0, %87;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[84], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %89, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n168k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%84, %85, %86, %87}, %88, p, 1, 1, %90;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %89, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n168k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%84, %85, %86, %87}, %88, p, 1, 1, %90;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[88], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %90, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n176k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %88, %89, p, 1, 1, 0, %91;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %90, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %88, %89, p, 1, 1, 0, %91;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[88], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %93, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n176k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%88, %89, %90, %91}, %92, p, 1, 1, %94;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %93, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%88, %89, %90, %91}, %92, p, 1, 1, %94;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[92], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %94, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n184k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %92, %93, p, 1, 1, 0, %95;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %94, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n184k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %92, %93, p, 1, 1, 0, %95;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[92], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %97, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n184k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%92, %93, %94, %95}, %96, p, 1, 1, %98;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %97, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n184k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%92, %93, %94, %95}, %96, p, 1, 1, %98;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[96], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %96, %97, p, 1, 1, 0, %99;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %96, %97, p, 1, 1, 0, %99;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[96], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %101, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%96, %97, %98, %99}, %100, p, 1, 1, %102;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %101, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%96, %97, %98, %99}, %100, p, 1, 1, %102;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[100], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %102, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n200k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %100, %101, p, 1, 1, 0, %103;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %102, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %100, %101, p, 1, 1, 0, %103;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[100], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %105, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n200k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%100, %101, %102, %103}, %104, p, 1, 1, %106;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %105, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%100, %101, %102, %103}, %104, p, 1, 1, %106;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[104], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %106, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n208k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %104, %105, p, 1, 1, 0, %107;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %106, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %104, %105, p, 1, 1, 0, %107;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[104], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %109, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n208k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%104, %105, %106, %107}, %108, p, 1, 1, %110;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %109, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%104, %105, %106, %107}, %108, p, 1, 1, %110;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[108], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %110, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n216k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %108, %109, p, 1, 1, 0, %111;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %110, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n216k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %108, %109, p, 1, 1, 0, %111;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[108], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %113, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n216k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%108, %109, %110, %111}, %112, p, 1, 1, %114;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %113, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n216k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%108, %109, %110, %111}, %112, p, 1, 1, %114;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104), FLASHBOOK_D(108)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[112], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %114, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %112, %113, p, 1, 1, 0, %115;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %114, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %112, %113, p, 1, 1, 0, %115;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[112], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %117, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%112, %113, %114, %115}, %116, p, 1, 1, %118;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %117, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%112, %113, %114, %115}, %116, p, 1, 1, %118;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104), FLASHBOOK_D(108), FLASHBOOK_D(112)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[116], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %118, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n232k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %116, %117, p, 1, 1, 0, %119;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %118, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n232k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %116, %117, p, 1, 1, 0, %119;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[116], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %121, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n232k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%116, %117, %118, %119}, %120, p, 1, 1, %122;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %121, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n232k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%116, %117, %118, %119}, %120, p, 1, 1, %122;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104), FLASHBOOK_D(108), FLASHBOOK_D(112), FLASHBOOK_D(116)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[120], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %122, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n240k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %120, %121, p, 1, 1, 0, %123;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %122, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n240k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %120, %121, p, 1, 1, 0, %123;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[120], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %125, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n240k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%120, %121, %122, %123}, %124, p, 1, 1, %126;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %125, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n240k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%120, %121, %122, %123}, %124, p, 1, 1, %126;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104), FLASHBOOK_D(108), FLASHBOOK_D(112), FLASHBOOK_D(116), FLASHBOOK_D(120)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[124], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %126, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n248k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %124, %125, p, 1, 1, 0, %127;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %126, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n248k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %124, %125, p, 1, 1, 0, %127;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[124], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %129, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n248k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%124, %125, %126, %127}, %128, p, 1, 1, %130;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %129, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n248k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%124, %125, %126, %127}, %128, p, 1, 1, %130;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

#define FLASHBOOK_ACCUMULATORS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define FLASHBOOK_OUTPUTS FLASHBOOK_D(0), FLASHBOOK_D(4), FLASHBOOK_D(8), FLASHBOOK_D(12), FLASHBOOK_D(16), FLASHBOOK_D(20), FLASHBOOK_D(24), FLASHBOOK_D(28), FLASHBOOK_D(32), FLASHBOOK_D(36), FLASHBOOK_D(40), FLASHBOOK_D(44), FLASHBOOK_D(48), FLASHBOOK_D(52), FLASHBOOK_D(56), FLASHBOOK_D(60), FLASHBOOK_D(64), FLASHBOOK_D(68), FLASHBOOK_D(72), FLASHBOOK_D(76), FLASHBOOK_D(80), FLASHBOOK_D(84), FLASHBOOK_D(88), FLASHBOOK_D(92), FLASHBOOK_D(96), FLASHBOOK_D(100), FLASHBOOK_D(104), FLASHBOOK_D(108), FLASHBOOK_D(112), FLASHBOOK_D(116), FLASHBOOK_D(120), FLASHBOOK_D(124)

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[128], uint64_t A, uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", %128, %129, p, 1, 1, 0, %131;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", %128, %129, p, 1, 1, 0, %131;\n}"
      : FLASHBOOK_OUTPUTS : "l"(A), "l"(B), "r"(add), "n"(transposed));
}

template <class T, int transposed>
FLASHBOOK_DEVICE void wgmma(float (&d)[128], const uint32_t (&a)[4], uint64_t B, bool accumulate) {
  const int add = accumulate;
  if constexpr (std::is_same_v<T, half>)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " FLASHBOOK_ACCUMULATORS ", {%128, %129, %130, %131}, %132, p, 1, 1, %134;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " FLASHBOOK_ACCUMULATORS ", {%128, %129, %130, %131}, %132, p, 1, 1, %134;\n}"
      : FLASHBOOK_OUTPUTS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(B), "r"(add), "n"(transposed));
}

#undef FLASHBOOK_ACCUMULATORS
#undef FLASHBOOK_OUTPUTS

}  // namespace flashbook::gpu::detail

#undef FLASHBOOK_D
