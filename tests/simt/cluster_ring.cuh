// A ring of two stages in each of two blocks of a cluster. A thread of each block loads half of
// every tile and multicasts it to both; two warps a block read the tiles and give their stages
// back, also to the other block, which writes there. Adds up the rows of n tiles.
#pragma once

#include "cuda/isa/hopper.cuh"

namespace flashbook::FLASHBOOK_MACHINE::cluster_ring {

constexpr int blocks = 2, threads = 96, stages = 2;
constexpr int rows = 16, columns = 32;  // of a tile; fp32, so a row is 128 bytes

struct Parameters {
  TensorMap x;    // [n rows, columns], in boxes of half a tile
  gmem<float> y;  // [blocks, n, columns]: the sums of each tile's columns, by each block
  int n;
};

struct Smem {
  Tile<float, rows, columns, Swizzle128> tile[stages];
  Mbarrier full[stages], empty[stages];
};

FLASHBOOK_DEVICE void produce(Smem& smem, const Parameters& p) {
  const int half = rows / blocks, mine = cluster_rank() * half;
  for (int j = 0; j < p.n; ++j) {
    const int stage = j % stages, phase = j / stages % 2;
    mbarrier_wait(smem.empty[stage], phase ^ 1);  // of both blocks: both are written to
    mbarrier_arrive_expect_tx(smem.full[stage], sizeof smem.tile[stage]);
    tma_load_multicast(smem.tile[stage].at(mine, 0), p.x, {0, j * rows + mine}, smem.full[stage],
                       3);
  }
}

FLASHBOOK_DEVICE void consume(Smem& smem, const Parameters& p) {
  const int warp = threadIdx.x / 32 - 1, lane = threadIdx.x % 32;
  for (int j = 0; j < p.n; ++j) {
    const int stage = j % stages, phase = j / stages % 2;
    mbarrier_wait(smem.full[stage], phase);
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += smem.tile[stage](row, lane);
    if (warp == j % 2) p.y((cluster_rank() * p.n + j) * columns + lane) = sum;
    sync_warp();  // all lanes have read the stage
    mbarrier_arrive_at_if(smem.empty[stage], lane % blocks, lane < blocks);
  }
}

FLASHBOOK_KERNEL(threads) add_rows(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  Smem& smem = shared_memory<Smem>();
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(smem.full[s], 1);
      mbarrier_init(smem.empty[s], 2 * blocks);  // warps that read
    }
    fence_mbarrier_init();
  }
  cluster_sync();  // both blocks' mbarriers are everybody's
  if (threadIdx.x == 0) produce(smem, p);
  if (threadIdx.x >= 32) consume(smem, p);
  cluster_sync();  // nobody arrives at a block that has left
}

/// x: [n rows, columns].
inline LaunchStatus start_add_rows(void (*kernel)(Parameters), gmem<const float> x, gmem<float> y,
                                   int n, void* stream) {
  Parameters p = {{}, y, n};
  const LaunchStatus status =
      make_tensor_map(p.x, x, {2, {columns, n * rows}, {1, columns}, {columns, rows / blocks}});
  if (!status.ok()) return status;
  LaunchShape shape = {"cluster_ring", {blocks}, {threads}, sizeof(Smem)};
  shape.cluster = blocks;
  return launch(shape, stream, kernel, p);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::cluster_ring
