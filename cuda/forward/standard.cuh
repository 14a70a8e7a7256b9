// Standard attention (FlashAttention, algorithm 0): three kernels, and between them S and P in
// global memory, in the type of the inputs. P takes the place of S.
//
//   scores    S = scale Q K^T        a block computes one tile of S
//   softmax   P = e^(S - m) / l      a warp computes one row
//   values    O = P V                a block computes one tile of rows of O
//
// Tiles and products are those of the next rungs, so what changes from here to fa1 and one_pass is
// where S, P and O live.
//
// Predicted for an H200, batch * heads = 64, N = 4096, d = 64, fp16: 10 ms; measured: 17.4. The
// products are 275 GFLOP, 8 ms at half of the fp32 peak of 67 TFLOP/s: 64 multiply-adds of a thread
// need 8 16-byte loads from shared memory, which takes about as long. S and P move 4 N^2 elements a
// head: 8.6 GB, 2 ms at 4.3 TB/s.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/fma.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::standard {

constexpr int B_r = fma::rows;
template <int D>
constexpr int B_c = fma::tile_keys<D>;

template <int D>
struct ScoresSmem {
  fma::Tile<B_r, D> Q;
  fma::Tile<B_c<D>, D> K;
};

/// S: [B, H_q, N_q, N_k]. Blocks of a tile of rows come one after another.
template <class T, int D>
FLASHBOOK_KERNEL(fma::threads)
scores(const ForwardParameters<T> p, const Tensor<T> S_gmem) {
  ScoresSmem<D>& smem = shared_memory<ScoresSmem<D>>();
  const int T_c = tiles(p.sizes.n_k(), B_c<D>), j = blockIdx.x % T_c * B_c<D>;
  const auto [first, head, batch] =
      head_tile(blockIdx.x / T_c, p.sizes.n_q(), B_r, p.sizes.heads_q);
  fma::load(smem.Q, p.Q.of(batch, head), first, {0, p.sizes.n_q()});
  fma::load(smem.K, p.K.of(batch, head / p.sizes.group()), j, {0, p.sizes.n_k()});
  sync_threads();  // Q and K are everybody's

  // S = scale Q K^T
  float S[fma::thread_rows][B_c<D> / 16] = {};
  fma::add_product_transposed(S, smem.Q, smem.K, p.sizes.d);
  fma::mask(S, p.sizes, first, j);
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r)
#pragma unroll
    for (int c = 0; c < B_c<D> / 16; ++c)
      if (first + fma::row(r) < p.sizes.n_q() && j + fma::key(c) < p.sizes.n_k())
        S_gmem.of(batch, head).row(first + fma::row(r))(j + fma::key(c)) = from_float<T>(S[r][c]);
}

constexpr int softmax_warps = 4, softmax_threads = softmax_warps * 32;

/// P = e^(S - m) / l, in S's place, and LSE = m + ln l. Lanes read neighbours.
template <class T>
FLASHBOOK_KERNEL(softmax_threads)
softmax(gmem<T> S, gmem<float> lse, int64_t rows, int n_k) {
  const int64_t i = int64_t{blockIdx.x} * softmax_warps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (i >= rows) return;
  const gmem<T> row = S + i * n_k;

  // m = rowmax S
  RowState state;
  for (int j = lane; j < n_k; j += 32) state.m = fmaxf(state.m, to_float(T(row(j))));
  state.m = lanes_max<32>(state.m);

  // l = rowsum e^(S - m)
  for (int j = lane; j < n_k; j += 32) state.l += weight(to_float(T(row(j))), state.m);
  state.l = lanes_sum<32>(state.l);

  // [write_P]
  // P = e^(S - m) / l
  for (int j = lane; j < n_k; j += 32)
    row(j) = from_float<T>(state.normalised(weight(to_float(T(row(j))), state.m)));
  // [/write_P]
  if (lane == 0) lse(i) = state.lse();
}

template <int D>
struct ValuesSmem {
  fma::Tile<B_r, B_c<D>> P;
  fma::Tile<B_c<D>, D> V;
};

template <class T, int D>
FLASHBOOK_KERNEL(fma::threads)
values(const ForwardParameters<T> p, const Tensor<const T> P_gmem) {
  ValuesSmem<D>& smem = shared_memory<ValuesSmem<D>>();
  const Visible& visible = p.sizes.visible;
  const auto [first, head, batch] = head_tile(blockIdx.x, visible.n_q, B_r, p.sizes.heads_q);
  const Range keys = visible.keys_of(Range{first, first + B_r});

  // O = P V
  float O[fma::thread_rows][D / 16] = {};
  for (int j = 0; j < visible.n_k; j += B_c<D>) {
    fma::load(smem.P, P_gmem.of(batch, head).from_column(j), first, {0, visible.n_q});
    fma::load(smem.V, p.V.of(batch, head / p.sizes.group()), j, keys);
    sync_threads();  // P and V are everybody's
    fma::add_product(O, smem.P, smem.V);
    sync_threads();  // nobody reads them any more
  }
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r) {
    const int i = first + fma::row(r);
    if (i >= visible.n_q) continue;
    const bool is_empty = p.lse(p.sizes.lse_row(batch, head) + i) == -INFINITY;
    for (float& o : O[r]) o = is_empty ? 0 : o;  // though 0 times what V holds may be NaN
    fma::store_row(p.O.of(batch, head), i, O[r]);
  }
}

inline int64_t weights(const flashbook_problem& p) {
  return p.batch * p.heads_q * p.n_q * p.n_k;
}

inline LaunchStatus launch_standard(const flashbook_problem& problem, const ForwardTensors& tensors,
                                    void* workspace, void* stream) {
  return with_type(problem, [&]<class T, int D>() {
    const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
    const int64_t n_q = problem.n_q, n_k = problem.n_k,
                  rows = problem.batch * problem.heads_q * n_q;
    const int n = p.sizes.n_k();
    const gmem<T> S(static_cast<T*>(workspace), rows * n_k);
    const int64_t head = n_q * n_k, batch = problem.heads_q * head;
    const int64_t row_tiles = head_tiles(p.sizes.n_q(), B_r, p.sizes.heads_q, p.sizes.batch);

    LaunchStatus status = launch_blocks("standard: scores", row_tiles * tiles(n, B_c<D>),
                                        fma::threads, sizeof(ScoresSmem<D>), stream, scores<T, D>,
                                        p, Tensor<T>{S, batch, n_k, head, n, false});
    if (status.ok())
      status = launch_blocks("standard: softmax", (rows + softmax_warps - 1) / softmax_warps,
                             softmax_threads, 0, stream, softmax<T>, S, p.lse, rows, n);
    if (status.ok())
      status =
          launch_blocks("standard: values", row_tiles, fma::threads, sizeof(ValuesSmem<D>), stream,
                        values<T, D>, p, Tensor<const T>{S, batch, n_k, head, n, false});
    return status;
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::standard

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel standard_forward = {
    "standard",
    "three kernels, S and P in memory",
    [](const flashbook_problem& problem) { return rung_refusal(problem); },
    [](const flashbook_problem& problem) {
      const std::size_t element = problem.dtype == FLASHBOOK_FP32 ? 4 : 2;
      return static_cast<std::size_t>(standard::weights(problem)) * element;
    },
    standard::launch_standard,
    {.materialised = true, .nan_rows = fma::rows, .nan_keys = 64}};
}
