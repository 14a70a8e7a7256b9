// Standard attention's backward pass (FlashAttention, algorithm 3): five kernels, and between them
// P, dP and dS in global memory, in the type of the inputs. P is computed again, as forward did,
// from what forward keeps: the LSE. dS takes the place of dP.
//
//   P, dP   P = e^(S - LSE), dP = dO V^T                  a block computes a tile of pairs
//   dS      D = rowsum(P ∘ dP) - dLSE, dS = P ∘ (dP - D)  a warp computes a row
//   dV      dV = P^T dO                                   a block computes a tile of dV
//   dK      dK = scale dS^T Q                             the same kernel
//   dQ      dQ = scale dS K                               a block computes a tile of dQ
//
// Predicted: an H200's multiply-adds take most of the time. At N = 4096, d = 64, fp16, 64 heads,
// the 5 products are 344 G multiply-adds, 10 ms at 33.5 T/s, and twice that as tiles of registers
// get; 8 N_q N_k numbers read and written are 17 GB, 4 ms at 4.3 TB/s. Measured: 46.8 ms.
#pragma once

#include "cuda/backward/kernels.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/fma.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/score_gradient.cuh"

namespace flashbook::FLASHBOOK_MACHINE::standard_gradients {

/// A block computes tiles of B rows; it reads others, and channels, `step` at a time.
constexpr int B = fma::rows, step = 64;

/// What a thread holds of a tile of B rows and `step` columns.
using Sums = float[fma::thread_rows][step / fma::x_threads];

/// P or dP, later dS: as a tensor whose tokens are queries and whose channels are keys.
template <class T>
Tensor<T> pairs_tensor(const Sizes& s, T* data) {
  const int64_t head = int64_t{s.n_q()} * s.n_k(), batch = head * s.heads_q;
  return {gmem<T>(data, batch * s.batch), batch, s.n_k(), head, s.n_k(), false};
}

// ---- P = e^(S - LSE) and dP = dO V^T

struct PairSmem {
  fma::Tile<B, step> left;
  fma::Tile<step, step> right;
};

/// sums = X Y^T for rows of X from i on and rows of Y from j on, `step` channels at a time.
template <class T>
FLASHBOOK_DEVICE void multiply(PairSmem& smem, Sums& sums, const Matrix<const T>& X,
                               const Matrix<const T>& Y, const Sizes& sizes, int i, int j) {
  for (int c = 0; c < X.columns; c += step) {
    sync_threads();  // nobody reads the channels before
    fma::load(smem.left, X.from_column(c), i, Range{0, sizes.n_q()});
    fma::load(smem.right, Y.from_column(c), j, Range{0, sizes.n_k()});
    sync_threads();  // these channels are everybody's
    const int channels = X.columns - c < step ? X.columns - c : step;
    fma::add_product_transposed(sums, smem.left, smem.right, channels);
  }
}

/// Writes what of a tile lies in a matrix of n_q rows.
template <class T>
FLASHBOOK_DEVICE void store_tile(const Matrix<T>& to, int i, int n_q, int j, const Sums& sums) {
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r)
#pragma unroll
    for (int c = 0; c < step / fma::x_threads; ++c)
      if (i + fma::row(r) < n_q && j + fma::key(c) < to.columns)
        to.row(i + fma::row(r))(j + fma::key(c)) = from_float<T>(sums[r][c]);
}

/// P of a pair from its product, and 0 for the dP of a pair that adds nothing.
template <class T>
FLASHBOOK_DEVICE void weigh(float& S, float& dP, const Sizes& sizes, int i, int j, float lse) {
  const float s = score(S, sizes.scale, sizes.visible.keys_of(i), j);
  const float stored = to_float(from_float<T>(s));  // as forward stored it
  S = weight_by_lse(stored, lse);
  if (adds_nothing(stored, lse)) dP = 0;
}

/// A block computes a tile of pairs, unless all are hidden: those nobody reads.
template <class T>
FLASHBOOK_KERNEL(fma::threads)
pair_kernel(const BackwardParameters<T> p, Tensor<T> P_gmem, Tensor<T> dP_gmem) {
  PairSmem& smem = shared_memory<PairSmem>();
  const Sizes& sizes = p.sizes;
  const unsigned key_tiles = static_cast<unsigned>(tiles(sizes.n_k(), step));
  const auto [i, head, batch] = head_tile(blockIdx.x / key_tiles, sizes.n_q(), B, sizes.heads_q);
  const int j = static_cast<int>(blockIdx.x % key_tiles) * step, kv_head = head / sizes.group();
  if (sizes.visible.classify({i, i + B}, {j, j + step}) == TileClass::skip) return;

  Sums S = {}, dP = {};
  multiply(smem, S, p.Q.of(batch, head), p.K.of(batch, kv_head), sizes, i, j);
  multiply(smem, dP, p.dO.of(batch, head), p.V.of(batch, kv_head), sizes, i, j);
  const Rows rows = {{0, sizes.n_q()}, p.lse + sizes.lse_row(batch, head)};
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r) {
    const float lse = rows.lse_of(i + fma::row(r));
#pragma unroll
    for (int c = 0; c < step / fma::x_threads; ++c)
      weigh<T>(S[r][c], dP[r][c], sizes, i + fma::row(r), j + fma::key(c), lse);
  }
  store_tile(P_gmem.of(batch, head), i, sizes.n_q(), j, S);
  store_tile(dP_gmem.of(batch, head), i, sizes.n_q(), j, dP);
}

// ---- D = rowsum(P ∘ dP) - dLSE, dS = P ∘ (dP - D)

/// A warp computes a row of dS, in place of dP. Hidden pairs, and empty rows, are 0 and stay it.
template <class T>
FLASHBOOK_KERNEL(fma::threads)
row_kernel(const BackwardParameters<T> p, Tensor<const T> P_gmem, Tensor<T> dP_gmem) {
  const Sizes& sizes = p.sizes;
  const auto [first_row, head, batch] = head_tile(blockIdx.x, sizes.n_q(), B, sizes.heads_q);
  const Matrix<const T> P = P_gmem.of(batch, head);
  const Matrix<T> dP = dP_gmem.of(batch, head);
  const int64_t row = sizes.lse_row(batch, head);
  const Rows rows = {{0, sizes.n_q()}, p.lse + row};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = first_row + warp; i < first_row + B; i += fma::threads / 32) {
    if (!rows.holds(i)) continue;
    const Range keys = sizes.visible.keys_of(i);
    // Lanes loop equally often, so that nvcc, which unrolls, has them read together.
    float D = 0;
    for (int first = keys.begin; first < keys.end; first += 32) {
      const int j = first + lane;
      if (j < keys.end) D += to_float(T(P.row(i)(j))) * to_float(T(dP.row(i)(j)));
    }
    D = lanes_sum<32>(D) - (p.has_dlse ? float(p.dlse(row + i)) : 0.f);
    for (int first = keys.begin; first < keys.end; first += 32) {
      const int j = first + lane;
      if (j >= keys.end) continue;
      dP.row(i)(j) = from_float<T>(to_float(T(P.row(i)(j))) * (to_float(T(dP.row(i)(j))) - D));
    }
  }
}

// ---- dV = P^T dO, dK = scale dS^T Q, dQ = scale dS K

/// result = factor W X or factor W^T X, W = P or dS.
template <class T>
struct Product {
  Sizes sizes;
  gmem<const float> lse;
  Tensor<const T> W, X;
  Tensor<T> result;
  float factor;
};

struct ProductSmem {
  fma::Tile<B, step> W;
  fma::Tile<step, step> X;
};

/// Columns first_column, ... of rows first_row, ... of W as rows of a tile. A warp reads a row: its
/// stores, a column, share 8 banks.
template <class T>
FLASHBOOK_DEVICE void load_transposed(fma::Tile<B, step>& tile, const Matrix<const T>& W,
                                      int first_row, const Rows& rows, int first_column) {
  for (int e = threadIdx.x; e < B * step; e += fma::threads) {
    const int i = first_row + e / B, j = first_column + e % B;
    float w = 0;
    if (rows.holds(i) && j < W.columns) w = to_float(T(W.row(i)(j)));
    tile(e % B, e / B) = w;
  }
}

/// W^T X, over the queries of all heads that read the keys: a block owns B keys and `step`
/// channels.
template <class T>
FLASHBOOK_KERNEL(fma::threads)
sum_over_queries(const Product<T> p) {
  ProductSmem& smem = shared_memory<ProductSmem>();
  const Sizes& sizes = p.sizes;
  const unsigned chunks = static_cast<unsigned>(tiles(p.X.channels, step));
  const int channel = static_cast<int>(blockIdx.x % chunks) * step;
  const auto [j, kv_head, batch] = head_tile(blockIdx.x / chunks, sizes.n_k(), B, sizes.heads_kv);
  const Range seeing = sizes.visible.rows_of(Range{j, j + B});
  Sums sums = {};
  for (int g = 0; g < sizes.group(); ++g) {
    const int head = kv_head * sizes.group() + g;
    const Rows rows = {seeing, p.lse + sizes.lse_row(batch, head)};
    for (int i = seeing.begin / step * step; i < seeing.end; i += step) {
      sync_threads();  // nobody reads W and X of the tile before
      load_transposed(smem.W, p.W.of(batch, head), i, rows, j);
      fma::load(smem.X, p.X.of(batch, head).from_column(channel), i, rows);
      sync_threads();  // W and X are everybody's
      fma::add_product(sums, smem.W, smem.X);
    }
  }
  fma::store_rows(p.result.of(batch, kv_head).from_column(channel), j, sizes.n_k(), sums, p.factor);
}

/// W X: a block owns B queries and `step` channels.
template <class T>
FLASHBOOK_KERNEL(fma::threads)
sum_over_keys(const Product<T> p) {
  ProductSmem& smem = shared_memory<ProductSmem>();
  const Sizes& sizes = p.sizes;
  const unsigned chunks = static_cast<unsigned>(tiles(p.X.channels, step));
  const int channel = static_cast<int>(blockIdx.x % chunks) * step;
  const auto [i, head, batch] = head_tile(blockIdx.x / chunks, sizes.n_q(), B, sizes.heads_q);
  const Range keys = sizes.visible.keys_of(Range{i, i + B});
  const Matrix<const T> X = p.X.of(batch, head / sizes.group());
  Sums sums = {};
  for (int j = keys.begin / step * step; j < keys.end; j += step) {
    sync_threads();  // nobody reads W and X of the tile before
    fma::load(smem.W, p.W.of(batch, head).from_column(j), i, Range{0, sizes.n_q()});
    fma::load(smem.X, X.from_column(channel), j, keys);
    sync_threads();  // W and X are everybody's
    fma::add_product(sums, smem.W, smem.X);
  }
  clear_empty_rows(sums, Rows{{0, sizes.n_q()}, p.lse + sizes.lse_row(batch, head)}, i);
  fma::store_rows(p.result.of(batch, head).from_column(channel), i, sizes.n_q(), sums, p.factor);
}

// ---- launching

/// Pairs of a query and a key, of all heads.
inline int64_t pairs(const flashbook_problem& p) {
  return p.batch * p.heads_q * p.n_q * p.n_k;
}

template <class T>
LaunchStatus launch_products(const BackwardParameters<T>& p, const Tensor<const T>& P,
                             const Tensor<const T>& dS, void* stream) {
  const Sizes& s = p.sizes;
  const auto over_queries = [&](const char* name, const Product<T>& product) {
    const int64_t blocks = head_tiles(s.n_k(), B, s.heads_kv, s.batch);
    return launch_blocks(name, blocks * tiles(product.X.channels, step), fma::threads,
                         sizeof(ProductSmem), stream, sum_over_queries<T>, product);
  };
  LaunchStatus status = over_queries("standard: dV", {s, p.lse, P, p.dO, p.dV, 1});
  if (status.ok()) status = over_queries("standard: dK", {s, p.lse, dS, p.Q, p.dK, s.scale});
  if (status.ok())
    status =
        launch_blocks("standard: dQ", head_tiles(s.n_q(), B, s.heads_q, s.batch) * tiles(s.d, step),
                      fma::threads, sizeof(ProductSmem), stream, sum_over_keys<T>,
                      Product<T>{s, p.lse, dS, p.K, p.dQ, s.scale});
  return status;
}

template <class T>
LaunchStatus launch_all(const flashbook_problem& problem, const BackwardTensors& tensors,
                        void* workspace, void* stream) {
  const BackwardParameters<T> p = backward_parameters<T>(problem, tensors);
  const Sizes& s = p.sizes;
  T *const P = static_cast<T*>(workspace), *const dP = P + pairs(problem);
  const int64_t row_blocks = head_tiles(s.n_q(), B, s.heads_q, s.batch);
  LaunchStatus status = launch_blocks("standard: P, dP", row_blocks * tiles(s.n_k(), step),
                                      fma::threads, sizeof(PairSmem), stream, pair_kernel<T>, p,
                                      pairs_tensor(s, P), pairs_tensor(s, dP));
  if (status.ok())
    status = launch_blocks("standard: dS", row_blocks, fma::threads, 0, stream, row_kernel<T>, p,
                           pairs_tensor<const T>(s, P), pairs_tensor(s, dP));
  const Tensor<const T> dS = pairs_tensor<const T>(s, dP);
  return status.ok() ? launch_products<T>(p, pairs_tensor<const T>(s, P), dS, stream) : status;
}

inline LaunchStatus launch_standard(const flashbook_problem& problem,
                                    const BackwardTensors& tensors, void* workspace, void* stream) {
  return with_type(
      problem, [&]<class T, int>() { return launch_all<T>(problem, tensors, workspace, stream); });
}

inline std::size_t workspace_bytes(const flashbook_problem& p) {
  const std::size_t element = p.dtype == FLASHBOOK_FP32 ? sizeof(float) : sizeof(half);
  return static_cast<std::size_t>(2 * pairs(p)) * element;  // P and dP
}

}  // namespace flashbook::FLASHBOOK_MACHINE::standard_gradients

namespace flashbook::FLASHBOOK_MACHINE {
const BackwardKernel standard_backward = {
    "standard",
    "P, dP and dS in memory, N_q x N_k numbers a head each",
    [](const flashbook_problem& problem) { return rung_refusal(problem); },
    standard_gradients::workspace_bytes,
    standard_gradients::launch_standard,
    {.materialised = true,
     .nan_rows = standard_gradients::step,
     .nan_keys = standard_gradients::step}};
}
