#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int threads = 128;

/// Two buffers, which take turns.
struct Smem {
  Tile<float, 2, threads> x;
};

/// y [tiles, 128]: y_i = x_i + x_(127 - i) in each tile of x.
FLASHBOOK_KERNEL(threads) add_opposite(gmem<const float> x, gmem<float> y, int tiles) {
  Smem& smem = shared_memory<Smem>();
  const int i = threadIdx.x;
  for (int tile = 0; tile < tiles; ++tile) {
    const float mine = x(tile * threads + i);
    smem.x(tile % 2, i) = mine;
    sync_threads();  // this tile is whole, and nobody reads the one before any more
    y(tile * threads + i) = mine + smem.x(tile % 2, threads - 1 - i);
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE
