// deferred_normalisation with weights that are powers of 2: the scale and log2 e are one factor,
// and a weight is one multiply-add and one instruction of the special function unit. Where that
// would not be exact, a branch that a whole warp takes subtracts first (cuda/rules/exp2.cuh).
//
// Predicted against deferred_normalisation: 1.15 times faster (measured: 1.20). Of 800
// instructions a lane and tile go 100: expf brings its argument into range and back in 3 or 4, for
// each of 32 scores.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/exp2.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::exp2 {

// [rung]
constexpr int B_r = 64, B_c = 64, warps = B_r / 16, threads = warps * 32;

// [padded]
/// Rows padded by 16 bytes: the 8 rows of a matrix that ldmatrix reads lie in all 32 banks.
template <class T, int D>
using Rows = Tile<T, 64, D + 8>;
// [/padded]

template <class T, int D>
struct Smem {
  Rows<T, D> Q, K, V;
};

using mma::Fragments, mma::lane;

/// m = max(m_old, rowmax S), P = 2^(c (S - m)) in S's place, O = 2^(c (m_old - m)) O.
template <int D_8>
FLASHBOOK_DEVICE void weigh(Fragments<B_c>& S, RowState (&state)[2], float (&O)[D_8][4],
                            const Exponents& e) {
  bool takes = true;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float m = fmaxf(state[h].m, mma::row_max(S, h));
    const float rescale = exp2_approx(e.c * (state[h].m - base_of(m)));
    state[h] = {m, rescale * state[h].l};
    mma::multiply_row(O, h, rescale);
    takes = takes && takes_product(e, m);
  }
  const bool by_product = all(takes);
#pragma unroll
  for (int h = 0; h < 2; ++h)
    state[h].l +=
        by_product ? weigh_row_by_product(S, h, e, state[h].m) : weigh_row(S, h, e, state[h].m);
}

template <class T, int D>
FLASHBOOK_KERNEL(threads)
forward(const ForwardParameters<T> p) {
  Smem<T, D>& smem = shared_memory<Smem<T, D>>();
  const Visible& visible = p.sizes.visible;
  const auto [first, head, batch] = head_tile(blockIdx.x, visible.n_q, B_r, p.sizes.heads_q);
  const int row = first + mma::warp_row() + lane() / 4;  // and row + 8
  const Range keys = visible.keys_of(Range{first, first + B_r});

  Fragments<D> O = {};
  RowState state[2];
  const Exponents e(p.sizes.scale);
  load<threads, D>(smem.Q, p.Q.of(batch, head), first, {0, visible.n_q});
  for (int j = keys.begin / B_c * B_c; j < keys.end; j += B_c) {
    load<threads, D>(smem.K, p.K.of(batch, head / p.sizes.group()), j, keys);
    load<threads, D>(smem.V, p.V.of(batch, head / p.sizes.group()), j, keys);
    sync_threads();  // Q, K and V are everybody's

    // S = Q K^T, P = 2^(c (S - m))
    Fragments<B_c> S = {};
    mma::add_QK<T, D>(S, smem.Q, smem.K);

    mask(S, e, visible, row, j);

    // O = 2^(c (m_old - m)) O + P V
    weigh(S, state, O, e);
    mma::add_PV<T, D>(O, S, smem.V);
    sync_threads();  // nobody reads K and V any more
  }

  // O = O / l, LSE = scale m + ln l
  mma::store_rows(p, batch, head, row, O, state, e.scale);
}
// [/rung]

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
  return launch_blocks("exp2", head_tiles(p.sizes.n_q(), B_r, p.sizes.heads_q, p.sizes.batch),
                       threads, sizeof(Smem<T, D>), stream, forward<T, D>, p);
}

inline LaunchStatus launch_exp2(const flashbook_problem& problem, const ForwardTensors& tensors,
                                void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::exp2

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel exp2_forward = {
    "exp2",
    "weights are 2^x of one multiply-add",
    [](const flashbook_problem& problem) { return rung_refusal(problem, true); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    exp2::launch_exp2,
    {.nan_rows = exp2::B_r, .nan_keys = exp2::B_c}};
}
