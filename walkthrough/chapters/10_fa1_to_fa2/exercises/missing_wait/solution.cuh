#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int threads = 128;

struct Smem {
  Tile<float, 2, threads> x;
};

/// This thread's share of a tile: 16 bytes, by the first warp.
FLASHBOOK_DEVICE void start_copy(Smem& smem, gmem<const float> x, int tile, int tiles) {
  const int i = 4 * threadIdx.x;
  if (tile < tiles && i < threads)
    cp_async_16(smem.x.at(tile % 2, i), x + (tile * threads + i), true);
  cp_async_commit();  // an empty group, if there is nothing
}

/// y [128]: y_i = the sum over all tiles of x_(127 - i).
FLASHBOOK_KERNEL(threads) sum_tiles(gmem<const float> x, gmem<float> y, int tiles) {
  Smem& smem = shared_memory<Smem>();
  const int i = threadIdx.x;
  float sum = 0;
  start_copy(smem, x, 0, tiles);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<0>();  // this thread's part of the tile
    sync_threads();      // and everybody's; nobody reads the tile before any more
    start_copy(smem, x, tile + 1, tiles);
    sum += smem.x(tile % 2, threads - 1 - i);
  }
  cp_async_wait<0>();
  y(i) = sum;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
