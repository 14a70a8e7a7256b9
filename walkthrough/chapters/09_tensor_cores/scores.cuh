// Kernels of chapter 9: scores from tiles laid out in different ways, and a sum whose accumulators
// are rounded.
#pragma once

#include "cuda/rules/mma.cuh"

namespace flashbook::FLASHBOOK_MACHINE::scores {

constexpr int side = 64, warps = side / 16, threads = 32 * warps;

// [by_row]
/// For rows of 8 chunks of 16 bytes: chunk c of row r is kept at place c ^ (r % 8) of the row.
struct ByRow : XorSwizzle {
  template <int chunks_per_row>
  FLASHBOOK_HOST_DEVICE static constexpr int chunk(int row, int chunk) {
    return chunk ^ row % 8;
  }
};
// [/by_row]

// [layouts]
using Plain = Tile<half, side, side>;
using Padded = Tile<half, side, side + 8>;
using Swizzled = Tile<half, side, side, ByRow>;
// [/layouts]

template <class Rows>
struct Smem {
  Rows Q, K;
};

/// 64 rows of x, rounded to 16 bits.
template <class Rows>
FLASHBOOK_DEVICE void load(Rows& tile, gmem<const float> x) {
  for (int i = threadIdx.x; i < side * side; i += threads)
    tile(i / side, i % side) = from_float<half>(x(i));
}

// [scores]
/// S [n, n] = X X^T for X [n, 64], n a multiple of 64. A block has 64 rows of S, a warp 16.
template <class Rows>
FLASHBOOK_KERNEL(threads)
scores(gmem<const float> X, gmem<float> S_gmem, int n) {
  Smem<Rows>& smem = shared_memory<Smem<Rows>>();
  const int first = blockIdx.x * side, lane = mma::lane();
  load(smem.Q, X + first * side);
  for (int j = 0; j < n; j += side) {
    load(smem.K, X + j * side);
    sync_threads();  // Q and K are everybody's
    mma::Fragments<side> S = {};
    mma::add_QK<half, side>(S, smem.Q, smem.K);
    for (int i = 0; i < 4 * (side / 8); ++i) {
      const int row = first + mma::warp_row() + lane / 4 + 8 * (i % 4 / 2);
      S_gmem(row * n + j + i / 4 * 8 + lane % 4 * 2 + i % 2) = S[i / 4][i % 4];
    }
    sync_threads();  // nobody reads K any more
  }
}
// [/scores]

// [column_sum]
/// y = the sum of x [n], n a multiple of 16: a product with a row of ones, 16 numbers a step.
template <bool rounds>
FLASHBOOK_KERNEL(32)
column_sum(gmem<const float> x, gmem<float> y, int n) {
  const int t = threadIdx.x % 4 * 2;
  const uint32_t one = pack<bfloat16>(1, 1), ones[4] = {one, one, one, one};
  float D[4] = {};
  for (int k = 0; k < n; k += 16) {
    const uint32_t b0 = pack<bfloat16>(x(k + t), x(k + t + 1)),
                   b1 = pack<bfloat16>(x(k + t + 8), x(k + t + 9));
    mma_m16n8k16<bfloat16>(D, ones, b0, b1);
    if (rounds)
      for (float& sum : D) sum = to_float(from_float<bfloat16>(sum));
  }
  if (threadIdx.x == 0) y(0) = D[0];
}
// [/column_sum]

}  // namespace flashbook::FLASHBOOK_MACHINE::scores
