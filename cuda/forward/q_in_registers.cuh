// swizzle with Q in registers: the left operand of S = Q K^T is the same for every tile of keys, so
// it is read from shared memory once.
//
// Predicted against swizzle: 1.1 times faster (measured: 1.06 at d = 128). Of the 36 ldmatrix of a
// tile 4 go (d = 64; 8 of 72 at 128), and with 16 rows a warp shared memory is what bounds the
// products: an ldmatrix of 4 matrices takes it 4 cycles, the two mma that it feeds take the tensor
// cores 3. At d = 64 it is slower, 0.97: a lane takes 168 registers instead of 128 and a
// multiprocessor 3 blocks instead of 4.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/async_tile_io.cuh"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/exp2.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::q_in_registers {

// [rung]
constexpr int B_r = 64, B_c = 64, warps = B_r / 16, threads = warps * 32;

// [swizzled]
template <class T, int D>
using Rows = Tile<T, 64, D, XorSwizzle>;
// [/swizzled]

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
  const HeadTile tile = head_tile(blockIdx.x, visible.n_q, B_r, p.sizes.heads_q);
  const int first = tile.first, head = tile.head, batch = tile.batch;
  const int row = first + mma::warp_row() + lane() / 4;  // and row + 8
  const Matrix<const T> K = p.K.of(batch, head / p.sizes.group()),
                        V = p.V.of(batch, head / p.sizes.group());
  const Range rows = {first, first + B_r}, keys = visible.keys_of(rows);

  Fragments<D> O = {};
  RowState state[2];
  const Exponents e(p.sizes.scale);
  const int full_end = e.folded() ? visible.keys_of_all(rows).end : 0;  // masking also scales
  int j = (tiles(keys.end, B_c) - 1) * B_c;
  if (j >= 0) {
    load_async<threads, D>(smem.Q, p.Q.of(batch, head), first, {0, visible.n_q});
    load_async<threads, D>(smem.K, K, j, keys);
  }
  cp_async_commit();
  cp_async_wait<0>();
  sync_threads();  // Q is everybody's
  mma::Operand<D> Q;
  if (j >= 0) {
#pragma unroll
    for (int k = 0; k < D; k += 16) mma::load_left(Q[k / 16], smem.Q, mma::warp_row(), 0, k);
  }

  // [tile]
  const auto add_tile = [&](auto masked) {
    cp_async_wait<0>();
    sync_threads();  // K is everybody's, nobody reads V any more
    load_async<threads, D>(smem.V, V, j, keys);
    cp_async_commit();

    // S = Q K^T, P = 2^(c (S - m))
    Fragments<B_c> S = {};
#pragma unroll
    for (int k = 0; k < D; k += 16) mma::add_QK<T>(S, Q[k / 16], smem.K, k);

    cp_async_wait<0>();
    sync_threads();  // V is everybody's, nobody reads K any more
    if (j > 0) load_async<threads, D>(smem.K, K, j - B_c, keys);
    cp_async_commit();
    if constexpr (masked) mask(S, e, visible, row, j);

    // O = 2^(c (m_old - m)) O + P V
    weigh(S, state, O, e);
    mma::add_PV<T, D>(O, S, smem.V);
  };
  // [/tile]
  for (; j >= 0 && j + B_c > full_end; j -= B_c) add_tile(std::true_type());
  for (; j >= 0; j -= B_c) add_tile(std::false_type());

  // O = O / l, LSE = scale m + ln l
  mma::store_rows(p, batch, head, row, O, state, e.scale);
}
// [/rung]

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
  return launch_blocks("q_in_registers",
                       head_tiles(p.sizes.n_q(), B_r, p.sizes.heads_q, p.sizes.batch), threads,
                       sizeof(Smem<T, D>), stream, forward<T, D>, p);
}

inline LaunchStatus launch_q_in_registers(const flashbook_problem& problem,
                                          const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::q_in_registers

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel q_in_registers_forward = {
    "q_in_registers",
    "Q is read from shared memory once",
    [](const flashbook_problem& problem) { return rung_refusal(problem, true); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    q_in_registers::launch_q_in_registers,
    {.nan_rows = q_in_registers::B_r, .nan_keys = q_in_registers::B_c}};
}
