// Three kernels, and nothing of N_q x N_k in memory: P and dS are computed again, a tile at a time,
// where they are needed. Nothing is added atomically: each sum has one owner and one order, so
// results repeat bit for bit. FlashAttention-2, section 3.1.2, with dQ in a kernel of its own.
//
//   D        D = rowsum(dO ∘ O) - dLSE          a warp computes a row
//   dK, dV   dV = P^T dO, dK = scale dS^T Q     a block owns keys, and reads queries
//   dQ       dQ = scale dS K                    a block owns queries, and reads keys
//
// Against standard: S and dP are computed twice, 7 products for 5; D needs O instead of a row of P.
// Predicted: 1.4 times its multiply-adds, all of its N_q N_k traffic less. At N = 4096, d = 64,
// fp16, 64 heads that is 4 ms more at 33.5 T multiply-adds a second and 4 ms less at 4.3 TB/s: no
// faster on an H200 (measured: 1.05 times), in 1 MB of workspace instead of 4.3 GB.
#pragma once

#include "cuda/backward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/fma.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/score_gradient.cuh"

namespace flashbook::FLASHBOOK_MACHINE::three_kernel {

/// A block owns B rows of a result, and reads `step` keys or queries at a time.
constexpr int B = fma::rows;
template <int width>
constexpr int step = fma::tile_keys<width>;

/// What a thread holds of a tile of S.
template <int width>
using Pairs = float[fma::thread_rows][step<width> / fma::x_threads];

// ---- D = rowsum(dO ∘ O) - dLSE

/// A warp sums a row. What it makes of an empty row, nobody reads.
template <class T>
FLASHBOOK_KERNEL(fma::threads)
row_kernel(const BackwardParameters<T> p, gmem<float> D_gmem) {
  const auto [first, head, batch] = head_tile(blockIdx.x, p.sizes.n_q(), B, p.sizes.heads_q);
  const Matrix<const T> dO = p.dO.of(batch, head), O = p.O.of(batch, head);
  const int64_t row = p.sizes.lse_row(batch, head);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = first + warp; i < first + B && i < p.sizes.n_q(); i += fma::threads / 32) {
    float dot = 0;
    for (int c = lane; c < p.sizes.d_v; c += 32)
      dot += to_float(T(dO.row(i)(c))) * to_float(T(O.row(i)(c)));
    dot = lanes_sum<32>(dot);
    if (lane == 0) D_gmem(row + i) = p.has_dlse ? dot - p.dlse(row + i) : dot;
  }
}

// ---- P and dS of a tile, recomputed

/// S becomes P = e^(S - LSE) and dP becomes dS = P ∘ (dP - D), of query i and key j.
FLASHBOOK_DEVICE void differentiate(float& S, float& dP, const Sizes& sizes, int i, int j,
                                    float lse, float D) {
  const float s = score(S, sizes.scale, sizes.visible.keys_of(i), j);
  S = weight_by_lse(s, lse);
  dP = adds_nothing(s, lse) ? 0 : S * (dP - D);
}

/// LSE and D of as many rows as the tiles have columns.
template <int n>
FLASHBOOK_DEVICE void load_row_numbers(Tile<float, 1, n>& lse, Tile<float, 1, n>& D,
                                       const Rows& rows, const gmem<const float>& D_gmem,
                                       int first) {
  const int i = threadIdx.x;
  if (i >= n) return;
  lse(0, i) = rows.lse_of(first + i);
  D(0, i) = rows.holds(first + i) ? float(D_gmem(first + i)) : 0.f;
}

// ---- dK = scale dS^T Q, dV = P^T dO

template <int width>
struct KeySmem {
  fma::Tile<B, width> K, V;
  fma::Tile<step<width>, width> Q, dO;
  fma::Tile<B, step<width>> P, dS;  // transposed: [keys, queries]
  Tile<float, 1, step<width>> lse, D;
};

/// Adds what the queries of a tile, already in shared memory, give to dK / scale and dV.
template <class T, int width>
FLASHBOOK_DEVICE void add_queries(KeySmem<width>& smem, const Sizes& sizes, int first_key,
                                  int first_query, float (&dK)[fma::thread_rows][width / 16],
                                  float (&dV)[fma::thread_rows][width / 16]) {
  // S^T = scale K Q^T, dP^T = V dO^T
  Pairs<width> S = {}, dP = {};
  fma::add_product_transposed(S, smem.K, smem.Q, sizes.d);
  fma::add_product_transposed(dP, smem.V, smem.dO, sizes.d_v);
  // P = e^(S - LSE), dS = P ∘ (dP - D)
#pragma unroll
  for (int c = 0; c < step<width> / fma::x_threads; ++c) {
    const int i = fma::key(c);
    const float lse = smem.lse(0, i), D = smem.D(0, i);
#pragma unroll
    for (int r = 0; r < fma::thread_rows; ++r)
      differentiate(S[r][c], dP[r][c], sizes, first_query + i, first_key + fma::row(r), lse, D);
  }
  fma::store_weights<T>(smem.P, S);
  fma::store_weights<T>(smem.dS, dP);
  sync_warp();  // rows of P and dS, which only this warp reads, are complete
  // dV = dV + P^T dO, dK = dK + dS^T Q
  fma::add_product(dV, smem.P, smem.dO);
  fma::add_product(dK, smem.dS, smem.Q);
}

/// A block owns B keys, and reads the queries that see them, of all heads of the group.
template <class T, int width>
FLASHBOOK_KERNEL(fma::threads)
key_kernel(const BackwardParameters<T> p, gmem<const float> D_gmem) {
  KeySmem<width>& smem = shared_memory<KeySmem<width>>();
  const Sizes& sizes = p.sizes;
  const auto [first, kv_head, batch] = head_tile(blockIdx.x, sizes.n_k(), B, sizes.heads_kv);
  const Range rows = sizes.visible.rows_of(Range{first, first + B});
  float dK[fma::thread_rows][width / 16] = {}, dV[fma::thread_rows][width / 16] = {};

  fma::load(smem.K, p.K.of(batch, kv_head), first, Range{0, sizes.n_k()});
  fma::load(smem.V, p.V.of(batch, kv_head), first, Range{0, sizes.n_k()});
  for (int g = 0; g < sizes.group(); ++g) {
    const int head = kv_head * sizes.group() + g;
    const int64_t row = sizes.lse_row(batch, head);
    const Rows seen = {rows, p.lse + row};
    for (int i = rows.begin / step<width> * step<width>; i < rows.end; i += step<width>) {
      sync_threads();  // nobody reads Q, dO, LSE and D of the tile before
      fma::load(smem.Q, p.Q.of(batch, head), i, seen);
      fma::load(smem.dO, p.dO.of(batch, head), i, seen);
      load_row_numbers(smem.lse, smem.D, seen, D_gmem + row, i);
      sync_threads();  // K, V and this tile's Q, dO, LSE and D are everybody's
      add_queries<T>(smem, sizes, first, i, dK, dV);
    }
  }
  fma::store_rows(p.dK.of(batch, kv_head), first, sizes.n_k(), dK, sizes.scale);
  fma::store_rows(p.dV.of(batch, kv_head), first, sizes.n_k(), dV, 1);
}

// ---- dQ = scale dS K

template <int width>
struct QuerySmem {
  fma::Tile<B, width> Q, dO;
  fma::Tile<step<width>, width> K, V;
  fma::Tile<B, step<width>> dS;
  Tile<float, 1, B> lse, D;
};
static_assert(sizeof(QuerySmem<256>) <= sizeof(KeySmem<256>));

/// Adds what the keys of a tile, already in shared memory, give to dQ / scale.
template <class T, int width>
FLASHBOOK_DEVICE void add_keys(QuerySmem<width>& smem, const Sizes& sizes, int first_query,
                               int first_key, float (&dQ)[fma::thread_rows][width / 16]) {
  // S = scale Q K^T, dP = dO V^T
  Pairs<width> S = {}, dP = {};
  fma::add_product_transposed(S, smem.Q, smem.K, sizes.d);
  fma::add_product_transposed(dP, smem.dO, smem.V, sizes.d_v);
  // dS = P ∘ (dP - D)
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r) {
    const int i = fma::row(r);
    const float lse = smem.lse(0, i), D = smem.D(0, i);
#pragma unroll
    for (int c = 0; c < step<width> / fma::x_threads; ++c)
      differentiate(S[r][c], dP[r][c], sizes, first_query + i, first_key + fma::key(c), lse, D);
  }
  fma::store_weights<T>(smem.dS, dP);
  sync_warp();  // rows of dS, which only this warp reads, are complete
  // dQ = dQ + dS K
  fma::add_product(dQ, smem.dS, smem.K);
}

/// A block owns B queries, and reads the keys that they see.
template <class T, int width>
FLASHBOOK_KERNEL(fma::threads)
query_kernel(const BackwardParameters<T> p, gmem<const float> D_gmem) {
  QuerySmem<width>& smem = shared_memory<QuerySmem<width>>();
  const Sizes& sizes = p.sizes;
  const auto [first, head, batch] = head_tile(blockIdx.x, sizes.n_q(), B, sizes.heads_q);
  const int kv_head = head / sizes.group();
  const Range keys = sizes.visible.keys_of(Range{first, first + B});
  const int64_t row = sizes.lse_row(batch, head);
  const Rows rows = {{0, sizes.n_q()}, p.lse + row};
  float dQ[fma::thread_rows][width / 16] = {};

  fma::load(smem.Q, p.Q.of(batch, head), first, rows);
  fma::load(smem.dO, p.dO.of(batch, head), first, rows);
  load_row_numbers(smem.lse, smem.D, rows, D_gmem + row, first);
  for (int j = keys.begin / step<width> * step<width>; j < keys.end; j += step<width>) {
    sync_threads();  // nobody reads K and V of the tile before
    fma::load(smem.K, p.K.of(batch, kv_head), j, keys);
    fma::load(smem.V, p.V.of(batch, kv_head), j, keys);
    sync_threads();  // Q, dO, LSE, D and this tile's K and V are everybody's
    add_keys<T>(smem, sizes, first, j, dQ);
  }
  clear_empty_rows(dQ, rows, first);
  fma::store_rows(p.dQ.of(batch, head), first, sizes.n_q(), dQ, sizes.scale);
}

// ---- launching

template <class T, int width>
LaunchStatus launch_all(const flashbook_problem& problem, const BackwardTensors& tensors,
                        void* workspace, void* stream) {
  const BackwardParameters<T> p = backward_parameters<T>(problem, tensors);
  const gmem<float> D = Views<T>(problem).lse(static_cast<float*>(workspace));
  const Sizes& s = p.sizes;
  const int64_t row_blocks = head_tiles(s.n_q(), B, s.heads_q, s.batch),
                key_blocks = head_tiles(s.n_k(), B, s.heads_kv, s.batch);
  const gmem<const float> D_read = D;
  LaunchStatus status =
      launch_blocks("three_kernel: D", row_blocks, fma::threads, 0, stream, row_kernel<T>, p, D);
  if (status.ok())
    status = launch_blocks("three_kernel: dK, dV", key_blocks, fma::threads, sizeof(KeySmem<width>),
                           stream, key_kernel<T, width>, p, D_read);
  if (status.ok())
    status = launch_blocks("three_kernel: dQ", row_blocks, fma::threads, sizeof(QuerySmem<width>),
                           stream, query_kernel<T, width>, p, D_read);
  return status;
}

inline LaunchStatus launch_three_kernel(const flashbook_problem& problem,
                                        const BackwardTensors& tensors, void* workspace,
                                        void* stream) {
  return with_type(problem, [&]<class T, int width>() {
    return launch_all<T, width>(problem, tensors, workspace, stream);
  });
}

/// A device may have less than the widest tiles need.
inline std::string refusal(const flashbook_problem& problem) {
  const std::string of_problem = rung_refusal(problem);
  if (!of_problem.empty()) return of_problem;
  const int width = tile_width(problem);
  const std::size_t needed = width == 64    ? sizeof(KeySmem<64>)
                             : width == 128 ? sizeof(KeySmem<128>)
                                            : sizeof(KeySmem<256>);
  return shared_memory_refusal(problem, needed, most_shared_bytes());
}

inline std::size_t workspace_bytes(const flashbook_problem& p) {
  return static_cast<std::size_t>(p.batch * p.heads_q * p.n_q) * sizeof(float);  // D
}

}  // namespace flashbook::FLASHBOOK_MACHINE::three_kernel

namespace flashbook::FLASHBOOK_MACHINE {
const BackwardKernel three_kernel_backward = {
    "three_kernel",
    "P computed again and never stored; each sum in the loop order that owns it",
    three_kernel::refusal,
    three_kernel::workspace_bytes,
    three_kernel::launch_three_kernel,
    {.nan_rows = 64, .nan_keys = 64}};
}
