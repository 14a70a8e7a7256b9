#pragma once

#include "cuda/isa/hopper.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int stages = 2, consumers = 2, threads = 32 * (1 + consumers);
constexpr int rows = 8, columns = 32;  // of a tile

struct Parameters {
  TensorMap x;    // [tiles rows, columns], in boxes of a tile
  gmem<float> y;  // [consumers, columns]: sums over the tiles of a consumer's half of the rows
  int tiles;
};

struct Smem {
  Tile<float, rows, columns, Swizzle128> x[stages];
  Mbarrier full[stages], empty[stages];
};

/// By one thread.
FLASHBOOK_DEVICE void produce(Smem& smem, const Parameters& p) {
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.empty[s], parity ^ 1);
    mbarrier_arrive_expect_tx(smem.full[s], sizeof smem.x[s]);
    tma_load(smem.x[s].at(0, 0), p.x, {0, t * rows}, smem.full[s]);
  }
}

/// By a warp.
FLASHBOOK_DEVICE void consume(Smem& smem, const Parameters& p, int consumer) {
  const int lane = threadIdx.x % 32;
  float sum = 0;
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.full[s], parity);
    for (int r = 0; r < rows / consumers; ++r)
      sum += smem.x[s](consumer * rows / consumers + r, lane);
    mbarrier_arrive(smem.empty[s]);
  }
  p.y(consumer * columns + lane) = sum;
}

FLASHBOOK_KERNEL(threads)
sum_tiles(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  Smem& smem = shared_memory<Smem>();
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(smem.full[s], 1);
      mbarrier_init(smem.empty[s], 32 * consumers);
    }
    fence_mbarrier_init();
  }
  sync_threads();  // the mbarriers are everybody's
  if (threadIdx.x == 0) produce(smem, p);
  if (threadIdx.x >= 32) consume(smem, p, threadIdx.x / 32 - 1);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
