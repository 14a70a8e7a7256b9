// The sum of n numbers: first by threads, then by warps and blocks through shared memory, then over
// all blocks atomically.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::block_sum {

constexpr int warps = 4, threads = warps * 32;

struct Parameters {
  gmem<const float> x;  // [n]
  gmem<float> sum;      // [1]
  int n;
};

struct Smem {
  Tile<float, warps, 32> of_lanes;
  Tile<float, 1, warps> of_warps;
};

FLASHBOOK_KERNEL(threads) add_up(const Parameters p) {
  Smem& smem = shared_memory<Smem>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int i = blockIdx.x * threads + threadIdx.x; i < p.n; i += gridDim.x * threads) sum += p.x(i);

  smem.of_lanes(warp, lane) = sum;
  sync_warp();  // the warp's row is complete
  if (lane == 0) {
    float of_warp = 0;
    for (int l = 0; l < 32; ++l) of_warp += smem.of_lanes(warp, l);
    smem.of_warps(0, warp) = of_warp;
  }
  sync_threads();  // of_warps is complete
  if (threadIdx.x != 0) return;
  float of_block = 0;
  for (int w = 0; w < warps; ++w) of_block += smem.of_warps(0, w);
  atomic_add(p.sum, of_block);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::block_sum
