// one_pass with its two products on tensor cores: mma m16n8k16, whose operands ldmatrix brings from
// shared memory. fp16 and bf16. All else is as a first kernel has it: O is divided by l for every
// tile of keys, e^x is expf, every score is tested against the mask, copies are waited for, and Q
// is read from shared memory again for every tile of keys.
//
// A warp computes 16 rows of S and O; cuda/rules/mma.cuh has its products, and says which lane
// holds what.
//
// Predicted against one_pass (standard's case): 4 times faster, 2 ms (measured: 4.0, 3.4 ms). The
// products shrink from 8 ms to less than 1; e^x, mask, division and waiting are what is left. At d
// > 128 the registers for O do not suffice, and part of it spills to local memory.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/mma.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::tensor_core {

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

/// Of row h (0: lane / 4, 1: lane / 4 + 8) of a warp's S: scale S where the row sees the key, else
/// -inf; then P = e^(S - m). Returns e^(m_old - m).
FLASHBOOK_DEVICE float weigh(Fragments<B_c>& S, int h, RowState& state, const Sizes& sizes, int row,
                             int first_key) {
  const Range keys = sizes.visible.keys_of(row);
  float s[B_c / 4];
#pragma unroll
  for (int i = 0; i < B_c / 4; ++i)
    s[i] = score(S[i / 2][2 * h + i % 2], sizes.scale, keys,
                 first_key + i / 2 * 8 + lane() % 4 * 2 + i % 2);
  const float rescale = state.add<4>(s);
#pragma unroll
  for (int i = 0; i < B_c / 4; ++i) S[i / 2][2 * h + i % 2] = s[i];
  return rescale;
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
  load<threads, D>(smem.Q, p.Q.of(batch, head), first, {0, visible.n_q});
  for (int j = keys.begin / B_c * B_c; j < keys.end; j += B_c) {
    load<threads, D>(smem.K, p.K.of(batch, head / p.sizes.group()), j, keys);
    load<threads, D>(smem.V, p.V.of(batch, head / p.sizes.group()), j, keys);
    sync_threads();  // Q, K and V are everybody's

    // S = scale Q K^T, P = e^(S - m)
    Fragments<B_c> S = {};
    mma::add_QK<T, D>(S, smem.Q, smem.K);

    // O = (e^(m_old - m) l_old O + P V) / l
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float l_old = state[h].l, rescale = weigh(S, h, state[h], p.sizes, row + 8 * h, j);
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        O[n][2 * h] *= rescale * l_old;
        O[n][2 * h + 1] *= rescale * l_old;
      }
    }
    mma::add_PV<T, D>(O, S, smem.V);
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) O[n][e] = state[e / 2].normalised(O[n][e]);
    sync_threads();  // nobody reads K and V any more
  }

  // LSE = m + ln l
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int i = row + 8 * h;
    if (i >= visible.n_q) continue;
    mma::store_row(p.O.of(batch, head), i, O, h);
    if (lane() % 4 == 0) p.lse(p.sizes.lse_row(batch, head) + i) = state[h].lse();
  }
}
// [/rung]

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
  return launch_blocks("tensor_core",
                       head_tiles(p.sizes.n_q(), B_r, p.sizes.heads_q, p.sizes.batch), threads,
                       sizeof(Smem<T, D>), stream, forward<T, D>, p);
}

inline LaunchStatus launch_tensor_core(const flashbook_problem& problem,
                                       const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::tensor_core

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel tensor_core_forward = {
    "tensor_core",
    "one_pass's two products by mma.sync",
    [](const flashbook_problem& problem) { return rung_refusal(problem, true); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    tensor_core::launch_tensor_core,
    {.nan_rows = tensor_core::B_r, .nan_keys = tensor_core::B_c}};
}
