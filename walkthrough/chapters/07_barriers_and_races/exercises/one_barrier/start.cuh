#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int threads = 128;

struct Smem {
  Tile<float, 1, threads> x;
};

/// y [tiles, 128]: y_i = x_i + x_(127 - i) in each tile of x.
FLASHBOOK_KERNEL(threads) add_opposite(gmem<const float> x, gmem<float> y, int tiles) {
  Smem& smem = shared_memory<Smem>();
  const int i = threadIdx.x;
  for (int tile = 0; tile < tiles; ++tile) {
    const float mine = x(tile * threads + i);
    sync_threads();
    smem.x(0, i) = mine;
    sync_threads();
    y(tile * threads + i) = mine + smem.x(0, threads - 1 - i);
    sync_threads();
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE
