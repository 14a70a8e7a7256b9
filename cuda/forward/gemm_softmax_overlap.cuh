// warp_specialised with products beside the softmax of the same warpgroup: S of the next tile is
// started before O += P V of this one, and the exponentials of S are computed while P V runs. Wgmma
// is asynchronous, so that costs nothing but a second set of registers: O is being added to while S
// becomes the next P. FlashAttention-3's second overlap (Shah et al., arXiv:2407.08608,
// section 3.2).
//
// Predicted against warp_specialised: 1.17 times faster at d = 128, as a sketch of both measured on
// an H200 (utilisation .642 and .754); more at d = 64, where the softmax takes as long as the
// products.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::gemm_softmax_overlap {

template <class T, int D>
FLASHBOOK_DEVICE void consume(PipelineSmem<T, PipelineShape<D>>& smem, const TmaParameters<T>& p,
                              const PipelineTile<PipelineShape<D>>& tile, int consumer) {
  constexpr int B_c = PipelineShape<D>::B_c;
  const WarpgroupRows here(p.sizes, tile, consumer);
  const Exponents& e = here.e;
  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> rows;

  const int count = tile.key_tiles();
  if (count > 0) {
    // P of the first tile: nothing runs beside it yet
    float S[1][B_c / 8][4], factor[1][2];
    uint32_t P[1][B_c / 16][4];
    mbarrier_wait(smem.full_Q, 0);
    smem.K.wait(0);
    wgmma_fence();
    start_QK<T>(S, smem.Q, here.in_tile, smem.K[0]);
    wgmma_wait<0>(accumulators(S));
    smem.K.release(0);
    here.mask(S, tile.first_key(0));
    weigh_tile(rows, S, factor, e);
    mma::to_left<T>(P, S);

    for (int t = 1; t < count; ++t) {
      // S = Q K^T, O = O + P V of the tile before
      smem.K.wait(t);
      wgmma_fence();
      start_QK<T>(S, smem.Q, here.in_tile, smem.K[t]);
      smem.V.wait(t - 1);
      start_PV<T, D>(O, P, smem.V[t - 1]);
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
  return launch_pipeline<T, PipelineShape<D>>("gemm_softmax_overlap", problem, tensors, stream,
                                              forward<T, D>);
}

inline LaunchStatus launch_gemm_softmax_overlap(const flashbook_problem& problem,
                                                const ForwardTensors& tensors, void*,
                                                void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::gemm_softmax_overlap

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel gemm_softmax_overlap_forward = {
    "gemm_softmax_overlap",
    "the softmax runs beside the product before",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    gemm_softmax_overlap::launch_gemm_softmax_overlap,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
