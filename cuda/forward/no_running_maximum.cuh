// wgmma_q_in_registers without a running maximum. P and O are relative to m, but m need not be the
// maximum: any number will do that keeps them in range. Here it is a row's maximum over the first
// tiles in which it sees keys, and then stays. Later tiles are only exponentiated and added: no
// maximum, no shuffles, no vote, and no wait of exp2 for any of them.
//
// What later scores exceed m by makes weights of more than 1. In fp32 and bf16 they may be 2^127,
// in fp16 2^16, before something is infinite; the relative precision is the same everywhere. So
// nothing is checked on the way: an overflow leaves infinity or NaN in l or O, and a block that
// finds any at the end computes its rows once more, with the maximum. Masked tiles, whose rows may
// not have seen a key yet, always have theirs.
//
// The exponentials are computed in two halves, with the wait for O in between: early enough to give
// V back, late enough to be free.
//
// Predicted against wgmma_q_in_registers: 1.13 times faster at d = 128, as a sketch of both
// measured on an H200 (utilisation .839 and .959, there in clusters and with a vote a tile): of
// some 390 instructions a tile 64 maxima, their shuffles and the vote go, and with them the longest
// chain.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::no_running_maximum {

/// Whether the registers hold Q beside O, S and P.
template <int D>
constexpr bool keeps_Q = D <= 128;

template <class T, int D>
struct Smem : PipelineSmem<T, PipelineShape<D>> {
  static constexpr int warps = 4 * PipelineShape<D>::consumers;  ///< that compute
  Tile<int, 1, warps> overflowed;  ///< by them: their results are not finite
  Mbarrier judged;                 ///< complete when each has said so, or not

  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) mbarrier_init(judged, warps);
    PipelineSmem<T, PipelineShape<D>>::initialise();
  }
};

/// O and the softmax's state of a consumer's rows.
template <int D>
struct Rows {
  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> softmax;
  bool have_base = false;  ///< each row of the warp has seen a key

  // [finite]
  /// Nothing of this thread's overflowed. NaN is taken for an overflow.
  FLASHBOOK_DEVICE bool are_finite() const {
    float zeros = 0 * (softmax.row[0][0].l + softmax.row[0][1].l);
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) zeros = fmaf(0, O[0][n][i], zeros);
    return zeros == 0;
  }
  // [/finite]
};

/// The maxima follow the tile's. Returns whether O must be multiplied by `factor`.
template <int D, int n_8>
FLASHBOOK_DEVICE bool follow_maxima(Rows<D>& rows, const float (&S)[1][n_8][4],
                                    float (&factor)[1][2], const Exponents& e) {
  float m_tile[1][2];
  rows.softmax.maxima(m_tile, S);
  const bool follows = rows.softmax.any_above(m_tile, slack / e.c);
  if (follows) rows.softmax.follow(m_tile, factor, e);
  const auto& row = rows.softmax.row[0];
  rows.have_base = all(row[0].m > -INFINITY && row[1].m > -INFINITY);
  return follows;
}

/// All tiles of keys, which are number `from` and on of the rings. `exact`: with running maxima.
template <class T, int D>
FLASHBOOK_DEVICE void attend(Rows<D>& rows, Smem<T, D>& smem,
                             const PipelineTile<PipelineShape<D>>& tile, const WarpgroupRows& here,
                             const mma::Operand<D>& Q, const Turns<2>& turns, int from,
                             bool exact) {
  constexpr int n_8 = PipelineShape<D>::B_c / 8;
  const int count = tile.key_tiles();
  const Exponents& e = here.e;
  float S[1][n_8][4], factor[1][2];
  uint32_t P[1][n_8 / 2][4];
  const auto start_S = [&](int t) {
    if constexpr (keeps_Q<D>)
      start_QK<T, D>(S, Q, smem.K[from + t]);
    else
      start_QK<T>(S, smem.Q, here.in_tile, smem.K[from + t]);
  };
  turns.open();
  smem.K.wait(from);
  turns.wait();
  wgmma_fence();
  start_S(0);
  turns.pass();
  wgmma_wait<0>(accumulators(S));
  smem.K.release(from);
  here.mask(S, tile.first_key(0));
  follow_maxima(rows, S, factor, e);
  rows.softmax.weigh(S, e);
  mma::to_left<T>(P, S);

  for (int t = 1; t < count; ++t) {
    // S = Q K^T, O = O + P V of the tile before
    smem.K.wait(from + t);
    turns.wait();
    wgmma_fence();
    start_S(t);
    smem.V.wait(from + t - 1);
    start_PV<T, D>(rows.O, P, smem.V[from + t - 1]);
    turns.pass();
    wgmma_wait<1>(accumulators(S));
    smem.K.release(from + t);

    // [weigh]
    // P = 2^(c (S - m)), while the tensor cores add to O
    bool follows = false;
    if (exact || !rows.have_base || !here.see_all(tile.first_key(t), 8 * n_8)) {
      here.mask(S, tile.first_key(t));
      follows = follow_maxima(rows, S, factor, e);
    }
    rows.softmax.weigh(columns<0, n_8 / 2>(S), e);
    pin(accumulators(S));
    wgmma_wait<0>(accumulators(rows.O));
    smem.V.release(from + t - 1);
    rows.softmax.weigh(columns<n_8 / 2, n_8>(S), e);
    if (follows) rows.softmax.rescale(rows.O, factor);
    mma::to_left<T>(P, S);
    // [/weigh]
  }
  // O = O + P V of the last tile
  smem.V.wait(from + count - 1);
  wgmma_fence();
  start_PV<T, D>(rows.O, P, smem.V[from + count - 1]);
  wgmma_wait<0>(accumulators(rows.O));
  smem.V.release(from + count - 1);
  turns.close();
}

/// Whether some row of the block overflowed, when all consumers have said what became of theirs.
template <class T, int D>
FLASHBOOK_DEVICE bool must_repeat(Smem<T, D>& smem) {
  mbarrier_wait(smem.judged, 0);
  return any(smem.overflowed(0, mma::lane() % 8) != 0);
}

/// By the producer's warp.
template <class T, int D>
FLASHBOOK_DEVICE void produce_all(Smem<T, D>& smem, const TmaParameters<T>& p,
                                  const PipelineTile<PipelineShape<D>>& tile) {
  const bool loads = threadIdx.x == 0;
  if (tile.key_tiles() == 0) return;
  if (loads) produce(smem, p, tile);
  sync_warp();
  if (must_repeat(smem) && loads) produce_keys(smem, p, tile, tile.key_tiles());
}

template <class T, int D>
FLASHBOOK_DEVICE void consume(Smem<T, D>& smem, const TmaParameters<T>& p,
                              const PipelineTile<PipelineShape<D>>& tile, int consumer) {
  const WarpgroupRows here(p.sizes, tile, consumer);
  const Turns<2> turns = {consumer};
  Rows<D> rows;
  if (tile.key_tiles() > 0) {
    mma::Operand<D> Q;
    mbarrier_wait(smem.full_Q, 0);
    if constexpr (keeps_Q<D>) load_Q(Q, smem.Q, here.in_tile);
    // [repeat]
    attend(rows, smem, tile, here, Q, turns, 0, false);
    const bool overflowed = any(!rows.are_finite());
    if (mma::lane() == 0) smem.overflowed(0, threadIdx.x / 32 - 4) = overflowed;
    mbarrier_arrive_if(smem.judged, mma::lane() == 0);
    if (must_repeat(smem)) {
      rows = {};
      attend(rows, smem, tile, here, Q, turns, tile.key_tiles(), true);
    }
    // [/repeat]
  }
  mma::store_rows(p, tile.batch, tile.head, here.row, rows.O[0], rows.softmax.row[0], here.e.scale);
}

template <class T, int D>
FLASHBOOK_KERNEL(PipelineShape<D>::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT TmaParameters<T> p) {
  auto& smem = shared_memory<Smem<T, D>>();
  const PipelineTile<PipelineShape<D>> tile(blockIdx.x, p.sizes);
  smem.initialise();
  specialise<PipelineShape<D>>([&] { produce_all<T, D>(smem, p, tile); },
                               [&](int consumer) { consume<T, D>(smem, p, tile, consumer); });
}

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_pipeline<T, PipelineShape<D>>("no_running_maximum", problem, tensors, stream,
                                              forward<T, D>, sizeof(Smem<T, D>));
}

inline LaunchStatus launch_no_running_maximum(const flashbook_problem& problem,
                                              const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::no_running_maximum

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel no_running_maximum_forward = {
    "no_running_maximum",
    "the maximum stays that of the first keys",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    no_running_maximum::launch_no_running_maximum,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
