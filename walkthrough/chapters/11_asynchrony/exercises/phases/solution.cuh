#pragma once

#include "cuda/isa/hopper.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int consumers = 2, threads = 32 * (1 + consumers);
constexpr int rows = 8, columns = 32;  // of a tile

struct Parameters {
  TensorMap x;    // [tiles rows, columns], in boxes of a tile
  gmem<float> y;  // [consumers, columns]: sums over the tiles of a consumer's half of the rows
  int tiles;
};

template <int stages>
struct Smem {
  Tile<float, rows, columns, Swizzle128> x[stages];
  Mbarrier full[stages], empty[stages];
};

/// The parity of the phase of full[t % stages] in which tile t comes.
template <int stages>
FLASHBOOK_DEVICE int parity_of(int t) {
  return t / stages % 2;
}

/// By one thread.
template <int stages>
FLASHBOOK_DEVICE void produce(Smem<stages>& smem, const Parameters& p) {
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages;
    mbarrier_wait(smem.empty[s], parity_of<stages>(t) ^ 1);
    mbarrier_arrive_expect_tx(smem.full[s], sizeof smem.x[s]);
    tma_load(smem.x[s].at(0, 0), p.x, {0, t * rows}, smem.full[s]);
  }
}

/// By a warp.
template <int stages>
FLASHBOOK_DEVICE void consume(Smem<stages>& smem, const Parameters& p, int consumer) {
  const int lane = threadIdx.x % 32;
  float sum = 0;
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages;
    mbarrier_wait(smem.full[s], parity_of<stages>(t));
    for (int r = 0; r < rows / consumers; ++r)
      sum += smem.x[s](consumer * rows / consumers + r, lane);
    sync_warp();  // all lanes have read the stage
    mbarrier_arrive_if(smem.empty[s], lane == 0);
  }
  p.y(consumer * columns + lane) = sum;
}

template <int stages>
FLASHBOOK_KERNEL(threads)
sum_tiles(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  Smem<stages>& smem = shared_memory<Smem<stages>>();
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(smem.full[s], 1);
      mbarrier_init(smem.empty[s], consumers);
    }
    fence_mbarrier_init();
  }
  sync_threads();  // the mbarriers are everybody's
  if (threadIdx.x == 0) produce(smem, p);
  if (threadIdx.x >= 32) consume(smem, p, threadIdx.x / 32 - 1);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
