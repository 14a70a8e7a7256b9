// tma_wgmma with warps that specialise: one thread of a producer warpgroup starts all copies, two
// consumer warpgroups of 64 rows each multiply and compute the softmax. They meet at rings of two
// stages for K and for V, whose mbarriers say which stages are full and which empty; no barrier of
// all threads is in the loop. The producer gives registers to the consumers, setmaxnreg, so that O,
// S and P of 64 rows fit: 168 a thread become 24 and 240.
//
// Predicted against tma_wgmma: 1.2 times faster at d = 128. 128 rows share a copy of K and V, half
// the bytes; two warpgroups seldom wait for the same thing, and no thread waits before it copies.
// At d = 64 no faster: there four warpgroups of tma_wgmma share a multiprocessor, here two compute.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::warp_specialised {

template <class T, int D>
FLASHBOOK_DEVICE void consume(PipelineSmem<T, PipelineShape<D>>& smem, const TmaParameters<T>& p,
                              const PipelineTile<PipelineShape<D>>& tile, int consumer) {
  constexpr int B_c = PipelineShape<D>::B_c;
  const WarpgroupRows here(p.sizes, tile, consumer);
  const Exponents& e = here.e;
  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> rows;
  if (tile.key_tiles() > 0) mbarrier_wait(smem.full_Q, 0);
  // [loop]
  for (int t = 0; t < tile.key_tiles(); ++t) {
    // S = Q K^T
    float S[1][B_c / 8][4];
    smem.K.wait(t);
    wgmma_fence();
    start_QK<T>(S, smem.Q, here.in_tile, smem.K[t]);
    wgmma_wait<0>(accumulators(S));
    smem.K.release(t);

    // P = 2^(c (S - m))
    here.mask(S, tile.first_key(t));
    float m_tile[1][2];
    rows.maxima(m_tile, S);
    if (rows.any_above(m_tile, slack / e.c)) rows.raise(m_tile, O, e);
    rows.weigh(S, e);
    uint32_t P[1][B_c / 16][4];
    mma::to_left<T>(P, S);

    // O = 2^(c (m_old - m)) O + P V
    smem.V.wait(t);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V[t]);
    wgmma_wait<0>(accumulators(O));
    smem.V.release(t);
  }
  // [/loop]
  mma::store_rows(p, tile.batch, tile.head, here.row, O[0], rows.row[0], e.scale);
}

// [kernel]
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
// [/kernel]

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_pipeline<T, PipelineShape<D>>("warp_specialised", problem, tensors, stream,
                                              forward<T, D>);
}

inline LaunchStatus launch_warp_specialised(const flashbook_problem& problem,
                                            const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::warp_specialised

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel warp_specialised_forward = {
    "warp_specialised",
    "a warpgroup copies, two compute",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    warp_specialised::launch_warp_specialised,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
