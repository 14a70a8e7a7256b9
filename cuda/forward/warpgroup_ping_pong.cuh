// gemm_softmax_overlap with consumers that take turns at the tensor cores: a turn is S of a tile
// and O += P V of the one before; while one warpgroup's products run, the other computes its
// softmax. Two named barriers hand the turn over. Left to themselves both start their products at
// once, and then both compute exponentials while the tensor cores have nothing to do.
// FlashAttention-3's ping-pong (Shah et al., arXiv:2407.08608, section 3.1).
//
// Predicted against gemm_softmax_overlap: 1.06 times faster at d = 128, as a sketch of both
// measured on an H200 (utilisation .754 and .803).
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::warpgroup_ping_pong {

template <class T, int D>
FLASHBOOK_DEVICE void consume(PipelineSmem<T, PipelineShape<D>>& smem, const TmaParameters<T>& p,
                              const PipelineTile<PipelineShape<D>>& tile, int consumer) {
  constexpr int B_c = PipelineShape<D>::B_c;
  const WarpgroupRows here(p.sizes, tile, consumer);
  const Exponents& e = here.e;
  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> rows;
  const Turns<2> turns = {consumer};

  const int count = tile.key_tiles();
  if (count > 0) {
    // P of the first tile: nothing runs beside it yet
    float S[1][B_c / 8][4], factor[1][2];
    uint32_t P[1][B_c / 16][4];
    mbarrier_wait(smem.full_Q, 0);
    turns.open();
    smem.K.wait(0);
    turns.wait();
    wgmma_fence();
    start_QK<T>(S, smem.Q, here.in_tile, smem.K[0]);
    turns.pass();
    wgmma_wait<0>(accumulators(S));
    smem.K.release(0);
    here.mask(S, tile.first_key(0));
    weigh_tile(rows, S, factor, e);
    mma::to_left<T>(P, S);

    for (int t = 1; t < count; ++t) {
      // S = Q K^T, O = O + P V of the tile before
      smem.K.wait(t);
      turns.wait();
      wgmma_fence();
      start_QK<T>(S, smem.Q, here.in_tile, smem.K[t]);
      smem.V.wait(t - 1);
      start_PV<T, D>(O, P, smem.V[t - 1]);
      turns.pass();
      wgmma_wait<1>(accumulators(S));
      smem.K.release(t);

      // P = 2^(c (S - m)), while the tensor cores add to O
      here.mask(S, tile.first_key(t));
      const bool follows = weigh_tile(rows, S, factor, e);
      wgmma_wait<0>(accumulators(O));
      smem.V.release(t - 1);
      if (follows) rows.rescale(O, factor);
      mma::to_left<T>(P, S);
    }
    // O = O + P V of the last tile
    smem.V.wait(count - 1);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V[count - 1]);
    wgmma_wait<0>(accumulators(O));
    turns.close();
  }
  mma::store_rows(p, tile.batch, tile.head, here.row, O[0], rows.row[0], e.scale);
}

template <class T, int D>
FLASHBOOK_KERNEL(PipelineShape<D>::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT TmaParameters<T> p) {
  auto& smem = shared_memory<PipelineSmem<T, PipelineShape<D>>>();
  const PipelineTile<PipelineShape<D>> tile(blockIdx.x, p.sizes);
  smem.initialise();
  specialise<PipelineShape<D>>(
      [&] {
        if (threadIdx.x == 0) produce(smem, p, tile);
      },
      [&](int consumer) { consume<T, D>(smem, p, tile, consumer); });
}

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_pipeline<T, PipelineShape<D>>("warpgroup_ping_pong", problem, tensors, stream,
                                              forward<T, D>);
}

inline LaunchStatus launch_warpgroup_ping_pong(const flashbook_problem& problem,
                                               const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::warpgroup_ping_pong

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel warpgroup_ping_pong_forward = {
    "warpgroup_ping_pong",
    "two warpgroups take turns at the tensor cores",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    warpgroup_ping_pong::launch_warpgroup_ping_pong,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
