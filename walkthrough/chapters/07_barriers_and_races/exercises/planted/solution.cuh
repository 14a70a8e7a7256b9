#pragma once

#include "cuda/isa/isa.cuh"
#include "cuda/rules/softmax.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int warps = 4, threads = warps * 32;

struct Smem {
  Tile<float, 1, warps> of_warps;
};

/// p = softmax(s), both [rows, n]. A block computes a row.
FLASHBOOK_KERNEL(threads) softmax(gmem<const float> s, gmem<float> p, int n) {
  Smem& smem = shared_memory<Smem>();
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, row = blockIdx.x * n;

  // m = max s
  float m = -INFINITY;
  for (int j = thread; j < n; j += threads) m = fmaxf(m, s(row + j));
  m = lanes_max<32>(m);
  if (lane == 0) smem.of_warps(0, warp) = m;
  sync_threads();  // all warps' maxima are there
  for (int w = 0; w < warps; ++w) m = fmaxf(m, smem.of_warps(0, w));
  sync_threads();  // nobody reads the maxima any more

  // l = sum e^(s - m)
  float l = 0;
  for (int j = thread; j < n; j += threads) l += expf(s(row + j) - m);
  l = lanes_sum<32>(l);
  if (lane == 0) smem.of_warps(0, warp) = l;
  sync_threads();  // all warps' sums are there
  l = 0;
  for (int w = 0; w < warps; ++w) l += smem.of_warps(0, w);

  for (int j = thread; j < n; j += threads) p(row + j) = expf(s(row + j) - m) / l;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
