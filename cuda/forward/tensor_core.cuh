// one_pass with its two products on tensor cores: mma m16n8k16, whose operands ldmatrix brings from
// shared memory. fp16 and bf16. All else is as a first kernel has it: O is divided by l for every
// tile of keys, e^x is expf, every score is tested against the mask, copies are waited for, and Q
// is read from shared memory again for every tile of keys.
//
// A warp computes 16 rows of S and O. A lane holds of a result of 16 x 8 (cuda/isa/tensor_core.cuh)
// two columns of the rows lane / 4 and lane / 4 + 8: 4 lanes share a row.
//
// Predicted against one_pass (standard's case): 4 times faster, 2 ms (measured: 4.0, 3.4 ms). The
// products shrink from 8 ms to less than 1; e^x, mask, division and waiting are what is left. At d
// > 128 the registers for O do not suffice, and part of it spills to local memory.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/softmax.cuh"
#include "cuda/rules/tile_io.cuh"

namespace flashbook::FLASHBOOK_MACHINE::tensor_core {

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

/// This lane's part of a warp's 16 rows of n columns: [n / 8][row, row, row + 8, row + 8].
template <int n>
using Fragments = float[n / 8][4];

FLASHBOOK_DEVICE int lane() {
  return threadIdx.x % 32;
}
/// The first of this warp's rows of a tile.
FLASHBOOK_DEVICE int warp_row() {
  return threadIdx.x / 32 * 16;
}

// [multiply_QK]
/// S = Q K^T
template <class T, int D>
FLASHBOOK_DEVICE void multiply_QK(Fragments<B_c>& S, Rows<T, D>& Q, Rows<T, D>& K) {
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    uint32_t a[4];
    ldmatrix_x4(a, Q.at(warp_row() + lane() % 16, k + lane() / 16 * 8));
#pragma unroll
    for (int n = 0; n < B_c; n += 16) {
      uint32_t b[4];  // of K^T: rows k to k + 15, columns n to n + 15
      ldmatrix_x4(b, K.at(n + lane() % 8 + lane() / 16 * 8, k + lane() / 8 % 2 * 8));
      mma_m16n8k16<T>(S[n / 8], a, b[0], b[1]);
      mma_m16n8k16<T>(S[n / 8 + 1], a, b[2], b[3]);
    }
  }
}
// [/multiply_QK]

/// O += P V. The result of one product is the operand of the next: both hold the same elements.
template <class T, int D>
FLASHBOOK_DEVICE void add_PV(Fragments<D>& O, const Fragments<B_c>& P, Rows<T, D>& V) {
#pragma unroll
  for (int k = 0; k < B_c; k += 16) {
    const auto& left = P[k / 8];
    const auto& right = P[k / 8 + 1];
    const uint32_t a[4] = {pack<T>(left[0], left[1]), pack<T>(left[2], left[3]),
                           pack<T>(right[0], right[1]), pack<T>(right[2], right[3])};
#pragma unroll
    for (int n = 0; n < D; n += 16) {
      uint32_t b[4];
      ldmatrix_x4_trans(b, V.at(k + lane() % 16, n + lane() / 16 * 8));
      mma_m16n8k16<T>(O[n / 8], a, b[0], b[1]);
      mma_m16n8k16<T>(O[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

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
FLASHBOOK_DEVICE void store(const Matrix<T>& to, int row, const Fragments<D>& O, int h) {
  const gmem<T> O_row = to.row(row);
#pragma unroll
  for (int n = 0; n < D / 8; ++n) {
    const int column = n * 8 + lane() % 4 * 2;
    if (to.in_chunks) {
      if (column < to.columns) store_vector(O_row + column, pack<T>(O[n][2 * h], O[n][2 * h + 1]));
    } else {
      if (column < to.columns) O_row(column) = from_float<T>(O[n][2 * h]);
      if (column + 1 < to.columns) O_row(column + 1) = from_float<T>(O[n][2 * h + 1]);
    }
  }
}

template <class T, int D>
FLASHBOOK_KERNEL(threads)
forward(const ForwardParameters<T> p) {
  Smem<T, D>& smem = shared_memory<Smem<T, D>>();
  const Visible& visible = p.sizes.visible;
  const auto [first, head, batch] = head_tile(blockIdx.x, visible.n_q, B_r, p.sizes.heads_q);
  const int row = first + warp_row() + lane() / 4;  // and row + 8
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
    multiply_QK<T, D>(S, smem.Q, smem.K);

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
    add_PV<T, D>(O, S, smem.V);
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
    store<T, D>(p.O.of(batch, head), i, O, h);
    if (lane() % 4 == 0) p.lse(p.sizes.lse_row(batch, head) + i) = state[h].lse();
  }
}

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
