// Matrix products by a warp: ldmatrix brings fragments from shared memory, mma multiplies them.
//
// With g = lane / 4 and t = 2 (lane % 4), a lane holds
//   of A [16, 16]: a[0], a[1] = rows g, g + 8 of columns t, t + 1; a[2], a[3] = of t + 8, t + 9
//   of B [16, 8]:  b[0], b[1] = rows t, t + 1 and t + 8, t + 9 of column g
//   of D [16, 8]:  d[0], d[1] = columns t, t + 1 of row g; d[2], d[3] = of row g + 8
#pragma once

#include "cuda/isa/memory.cuh"
#include "cuda/isa/types.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

// PTX ISA, "Warp-level matrix load instruction: ldmatrix". Lane 8i + r gives the address of row r
// of the i-th matrix of 8 x 8 elements of 2 bytes, 16 bytes long and aligned to 16; matrix i goes
// to registers[i]. A lane receives row `lane / 4`, columns t and t + 1, or with _trans of the
// transposed matrix.

template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x1(uint32_t (&registers)[1], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(registers[0])
               : "r"(detail::shared_address(row))
               : "memory");
}
template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x2(uint32_t (&registers)[2], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(registers[0]), "=r"(registers[1])
               : "r"(detail::shared_address(row))
               : "memory");
}
template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x4(uint32_t (&registers)[4], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(detail::shared_address(row))
               : "memory");
}
template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x1_trans(uint32_t (&registers)[1], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(registers[0])
               : "r"(detail::shared_address(row))
               : "memory");
}
template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x2_trans(uint32_t (&registers)[2], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(registers[0]), "=r"(registers[1])
               : "r"(detail::shared_address(row))
               : "memory");
}
template <Element16 T>
FLASHBOOK_DEVICE void ldmatrix_x4_trans(uint32_t (&registers)[4], smem_ptr<T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(detail::shared_address(row))
               : "memory");
}

/// D += A B, products exact, sums in fp32. T: half or bfloat16.
/// PTX ISA, "Multiply-and-Accumulate Instruction: mma".
template <class T>
FLASHBOOK_DEVICE void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
  if constexpr (std::is_same_v<T, half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/tensor_core.hpp"

namespace flashbook::emulated {

namespace detail {
template <bool transposed, class T, unsigned count>
void ldmatrix(uint32_t (&registers)[count], const smem_ptr<T>& row, Site site) {
  simt::ldmatrix(registers, simt::bytes(row.pointer()), transposed, site);
}
}  // namespace detail

template <Element16 T>
void ldmatrix_x1(uint32_t (&registers)[1], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<false>(registers, row, site);
}
template <Element16 T>
void ldmatrix_x2(uint32_t (&registers)[2], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<false>(registers, row, site);
}
template <Element16 T>
void ldmatrix_x4(uint32_t (&registers)[4], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<false>(registers, row, site);
}
template <Element16 T>
void ldmatrix_x1_trans(uint32_t (&registers)[1], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<true>(registers, row, site);
}
template <Element16 T>
void ldmatrix_x2_trans(uint32_t (&registers)[2], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<true>(registers, row, site);
}
template <Element16 T>
void ldmatrix_x4_trans(uint32_t (&registers)[4], const smem_ptr<T>& row, Site site = Site::here()) {
  detail::ldmatrix<true>(registers, row, site);
}

template <class T>
void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                  Site site = Site::here()) {
  simt::mma_m16n8k16<T>(d, a, b0, b1, site);
}

}  // namespace flashbook::emulated

#endif
