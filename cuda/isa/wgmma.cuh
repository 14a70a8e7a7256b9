// Matrix products by a warpgroup, four warps of which the first has a number divisible by four:
// sm_90a. They run beside the threads until these wait.
//
//   D [64, n] = A [64, 16] B [16, n]   or   D += A B;   n = 8, 16 ... 256
//
// With g = lane / 4, t = 2 (lane % 4) and w = warp % 4, a lane holds
//   of D: d[4 j], d[4 j + 1] = columns 8 j + t, 8 j + t + 1 of row 16 w + g; d[4 j + 2], d[4 j + 3]
//         = the same of row 16 w + g + 8
//   of A in registers: what mma_m16n8k16 takes of rows 16 w to 16 w + 15 (tensor_core.cuh)
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#pragma once

#include <cstdint>

#include "cuda/isa/tile.cuh"
#include "cuda/isa/types.cuh"

#ifdef __CUDACC__

#include "cuda/isa/wgmma_shapes.cuh"

namespace flashbook::gpu {

/// A matrix in shared memory. "Matrix Descriptor Format".
using WgmmaOperand = uint64_t;

/// The operand whose first element is tile(row, column): A, or B by its transposed, has rows along
/// M or N and columns along K; row is a multiple of 8 and column of 16. B as it is has rows along K
/// and columns along N; row is a multiple of 8 and column of 64.
template <Element16 T, int rows, int columns>
FLASHBOOK_DEVICE WgmmaOperand wgmma_operand(Tile<T, rows, columns, Swizzle128>& tile, int row,
                                            int column) {
  constexpr uint64_t eight_rows = 1024 >> 4, columns_64 = rows * 128 >> 4, swizzle_128 = 1;
  const uint32_t address = detail::shared_address(tile.at(0, 0)) + column / 64 * (rows * 128) +
                           row * 128 + column % 64 * 2;
  return (address & 0x3ffff) >> 4 | columns_64 << 16 | eight_rows << 32 | swizzle_128 << 62;
}
/// The operand `down` rows and `right` columns further on, multiples of the same, both known to the
/// compiler: one addition.
template <Element16 T, int rows, int columns>
FLASHBOOK_DEVICE WgmmaOperand wgmma_step(WgmmaOperand operand,
                                         const Tile<T, rows, columns, Swizzle128>&, int down,
                                         int right) {
  return operand + ((right / 64 * (rows * 128) + down * 128 + right % 64 * 2) >> 4);
}

/// D = A B, or D += A B if `accumulate`; B is stored by its transposed, [n][16].
template <Element16 T, int registers>
FLASHBOOK_DEVICE void wgmma(float (&d)[registers], WgmmaOperand A, WgmmaOperand B,
                            bool accumulate) {
  detail::wgmma<T, 0>(d, A, B, accumulate);
}
template <Element16 T, int registers>
FLASHBOOK_DEVICE void wgmma(float (&d)[registers], const uint32_t (&a)[4], WgmmaOperand B,
                            bool accumulate) {
  detail::wgmma<T, 0>(d, a, B, accumulate);
}
/// The same with B stored as it is, [16][n].
template <Element16 T, int registers>
FLASHBOOK_DEVICE void wgmma_trans(float (&d)[registers], WgmmaOperand A, WgmmaOperand B,
                                  bool accumulate) {
  detail::wgmma<T, 1>(d, A, B, accumulate);
}
template <Element16 T, int registers>
FLASHBOOK_DEVICE void wgmma_trans(float (&d)[registers], const uint32_t (&a)[4], WgmmaOperand B,
                                  bool accumulate) {
  detail::wgmma<T, 1>(d, a, B, accumulate);
}

/// Orders what threads did with registers before the next wgmma uses them. "wgmma.fence".
FLASHBOOK_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// The products started since the last commit are a group. "wgmma.commit_group".
FLASHBOOK_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// What has been computed into the registers so far is computed above this point: else the compiler
/// sinks it below the next wait.
template <int registers>
FLASHBOOK_DEVICE void pin(float (&d)[registers]) {
#pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
/// Waits until at most the `newest` last groups are under way. The accumulators that this completes
/// are named, none, one or two, so that the compiler moves no use of them above.
/// "wgmma.wait_group".
template <int newest, int... registers>
FLASHBOOK_DEVICE void wgmma_wait(float (&... d)[registers]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(newest) : "memory");
  (pin(d), ...);
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/wgmma.hpp"

namespace flashbook::emulated {

using WgmmaOperand = simt::WgmmaMatrix;

template <Element16 T, int rows, int columns>
WgmmaOperand wgmma_operand(Tile<T, rows, columns, Swizzle128>& tile, int row, int column) {
  const int start = column / 64 * (rows * 128) + row * 128 + column % 64 * 2;
  return {simt::bytes(tile.at(0, 0).pointer()), static_cast<uint32_t>(start), rows * 128};
}
template <Element16 T, int rows, int columns>
WgmmaOperand wgmma_step(WgmmaOperand operand, const Tile<T, rows, columns, Swizzle128>&, int down,
                        int right) {
  operand.start += static_cast<uint32_t>(right / 64 * (rows * 128) + down * 128 + right % 64 * 2);
  return operand;
}

namespace detail {
template <class T, int registers>
simt::WgmmaShape wgmma_shape(bool transposed) {
  static_assert(registers % 4 == 0 && registers <= 128, "n is 8, 16 ... 256");
  return {registers * 2, transposed,
          std::is_same_v<T, half> ? simt::WgmmaType::fp16 : simt::WgmmaType::bf16};
}
}  // namespace detail

template <Element16 T, int registers>
void wgmma(float (&d)[registers], const WgmmaOperand& A, const WgmmaOperand& B, bool accumulate,
           Site site = Site::here()) {
  simt::wgmma(detail::wgmma_shape<T, registers>(false), {d, nullptr, A, B, accumulate}, site);
}
template <Element16 T, int registers>
void wgmma(float (&d)[registers], const uint32_t (&a)[4], const WgmmaOperand& B, bool accumulate,
           Site site = Site::here()) {
  simt::wgmma(detail::wgmma_shape<T, registers>(false), {d, a, {}, B, accumulate}, site);
}
template <Element16 T, int registers>
void wgmma_trans(float (&d)[registers], const WgmmaOperand& A, const WgmmaOperand& B,
                 bool accumulate, Site site = Site::here()) {
  simt::wgmma(detail::wgmma_shape<T, registers>(true), {d, nullptr, A, B, accumulate}, site);
}
template <Element16 T, int registers>
void wgmma_trans(float (&d)[registers], const uint32_t (&a)[4], const WgmmaOperand& B,
                 bool accumulate, Site site = Site::here()) {
  simt::wgmma(detail::wgmma_shape<T, registers>(true), {d, a, {}, B, accumulate}, site);
}
inline void wgmma_fence(Site site = Site::here()) {
  simt::wgmma_fence(site);
}
inline void wgmma_commit(Site site = Site::here()) {
  simt::wgmma_commit(site);
}
template <int registers>
void pin(float (&)[registers]) {}

template <int newest>
void wgmma_wait(Site site = Site::here()) {
  simt::wgmma_wait(newest, site);
}
template <int newest, int registers>
void wgmma_wait(float (&)[registers], Site site = Site::here()) {
  simt::wgmma_wait(newest, site);
}
template <int newest, int registers, int others>
void wgmma_wait(float (&)[registers], float (&)[others], Site site = Site::here()) {
  simt::wgmma_wait(newest, site);
}

}  // namespace flashbook::emulated

#endif
