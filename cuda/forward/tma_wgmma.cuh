// The tensor cores' own instruction on Hopper GPUs, wgmma, and its copies, TMA. A product of 64
// rows is one instruction of four warps, which reads K and V, and Q, from shared memory itself: no
// ldmatrix, no fragments. A tile of K or V is one or a few copies that one thread starts: no
// addresses a lane, no threads that copy. As in double_buffering the next K is copied while V is
// multiplied, and V while S is.
//
// A tile of keys ends where the keys that the block sees end, and the last one may begin before key
// 0: TMA writes zeros there, so nothing is loaded that nobody sees.
//
// Predicted against ping_pong: 1.05 times faster at d = 64, 1.3 times at d = 128. A
// multiprocessor's wgmma multiply at 4096 FLOP a cycle, its mma.sync at 2650 at most; but a
// warpgroup waits for each product and then computes exponentials while nobody multiplies, unless
// another block of the multiprocessor does: 4 share one at d = 64, 2 at d = 128.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/wgmma.cuh"

namespace flashbook::FLASHBOOK_MACHINE::tma_wgmma {

constexpr int B_r = 64, threads = 128;
template <int D>
constexpr int B_c = D <= 128 ? 128 : 64;

template <class T, int D>
struct Smem {
  Tile<T, B_r, D, Swizzle128> Q;
  Tile<T, B_c<D>, D, Swizzle128> K, V;
  Mbarrier full_Q, full_K, full_V;  ///< complete when the copy is
};

template <class T, int D>
FLASHBOOK_DEVICE void initialise(Smem<T, D>& smem) {
  if (threadIdx.x == 0) {
    for (Mbarrier* full : {&smem.full_Q, &smem.full_K, &smem.full_V}) mbarrier_init(*full, 1);
    fence_mbarrier_init();
  }
  sync_threads();  // the mbarriers are everybody's
}

template <class T, int D>
FLASHBOOK_KERNEL(threads)
forward(const FLASHBOOK_GRID_CONSTANT TmaParameters<T> p) {
  constexpr int keys = B_c<D>;
  Smem<T, D>& smem = shared_memory<Smem<T, D>>();
  const RowTile<B_r, keys> tile(blockIdx.x, p.sizes);
  const WarpgroupRows here(p.sizes, tile, 0);
  const Exponents& e = here.e;
  const int count = tile.key_tiles();

  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> rows;
  initialise(smem);
  const bool copies = threadIdx.x == 0;
  if (copies && count > 0) {
    load_rows(smem.Q, p.Q_map, tile.first, tile.head, tile.batch, smem.full_Q);
    load_rows(smem.K, p.K_map, tile.first_key(0), tile.kv_head, tile.batch, smem.full_K);
  }
  // [loop]
  for (int t = 0; t < count; ++t) {
    const int j = tile.first_key(t), phase = t % 2;
    if (copies) load_rows(smem.V, p.V_map, j, tile.kv_head, tile.batch, smem.full_V);

    // S = Q K^T
    float S[1][keys / 8][4];
    if (t == 0) mbarrier_wait(smem.full_Q, 0);
    mbarrier_wait(smem.full_K, phase);
    wgmma_fence();
    start_QK<T>(S, smem.Q, 0, smem.K);
    wgmma_wait<0>(accumulators(S));  // then nobody reads K: one wgmma is all four warps'
    if (copies && t + 1 < count)
      load_rows(smem.K, p.K_map, tile.first_key(t + 1), tile.kv_head, tile.batch, smem.full_K);

    // P = 2^(c (S - m))
    here.mask(S, j);
    float m_tile[1][2];
    rows.maxima(m_tile, S);
    if (rows.any_above(m_tile, slack / e.c)) rows.raise(m_tile, O, e);
    rows.weigh(S, e);
    uint32_t P[1][keys / 16][4];
    mma::to_left<T>(P, S);

    // O = 2^(c (m_old - m)) O + P V
    mbarrier_wait(smem.full_V, phase);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V);
    wgmma_wait<0>(accumulators(O));  // nor V
  }
  // [/loop]
  mma::store_rows(p, tile.batch, tile.head, here.row, O[0], rows.row[0], e.scale);
}

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_tma_blocks<T>("tma_wgmma", problem, tensors, {B_r, B_c<D>}, threads,
                              sizeof(Smem<T, D>), stream, forward<T, D>);
}

inline LaunchStatus launch_tma_wgmma(const flashbook_problem& problem,
                                     const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::tma_wgmma

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel tma_wgmma_forward = {
    "tma_wgmma",
    "copies by TMA, products by wgmma",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    tma_wgmma::launch_tma_wgmma,
    {.nan_rows = 64, .nan_keys = 128, .hopper_only = true}};
}
