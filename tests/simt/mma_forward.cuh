// The forward pass on tensor cores as FlashAttention-2 does it: one pass over K and V, cp.async,
// ldmatrix, mma. d = 64, no mask, any N_q and N_k, one head a blockIdx.y.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::mma_forward {

constexpr int B_r = 64, B_c = 64, d = 64, warps = 4, threads = warps * 32;

template <class T>
struct Parameters {
  gmem<const T> Q, K, V;  // [heads, N_q or N_k, d]
  gmem<T> O;              // [heads, N_q, d]
  gmem<float> lse;        // [heads, N_q]
  int N_q, N_k;
  float scale;
};

template <class T>
using Rows = Tile<T, B_c, d, XorSwizzle>;

template <class T>
struct Smem {
  Rows<T> Q, K, V;
};

/// Starts to copy rows [first, first + B_c) of a matrix of n rows; zeros past its end.
template <class T>
FLASHBOOK_DEVICE void load_rows(Rows<T>& tile, gmem<const T> matrix, int first, int n) {
#pragma unroll
  for (int i = threadIdx.x; i < B_c * d / 8; i += threads) {
    const int row = i / (d / 8), column = i % (d / 8) * 8;
    const bool valid = first + row < n;
    cp_async_16(tile.at(row, column), matrix + (valid ? (first + row) * d + column : 0), valid);
  }
}

/// The maximum and the sum over the 4 lanes that share a row of an mma's result.
FLASHBOOK_DEVICE float quad_max(float x) {
  x = fmaxf(x, shuffle_xor(x, 1));
  return fmaxf(x, shuffle_xor(x, 2));
}
FLASHBOOK_DEVICE float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}

template <class T>
FLASHBOOK_KERNEL(threads)
forward(const Parameters<T> p) {
  Smem<T>& smem = shared_memory<Smem<T>>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_row = blockIdx.x * B_r, head = blockIdx.y;
  const int row = first_row + warp * 16 + lane / 4;  // and row + 8
  const gmem<const T> K = p.K + head * p.N_k * d, V = p.V + head * p.N_k * d;
  const float scale_log2 = p.scale * 1.4426950408889634f;
  const int blocks = (p.N_k + B_c - 1) / B_c;

  load_rows(smem.Q, p.Q + head * p.N_q * d, first_row, p.N_q);
  load_rows(smem.K, K, 0, p.N_k);
  cp_async_commit();
  cp_async_wait<0>();
  sync_threads();  // Q and the first K are everybody's

  uint32_t Q_rmem[d / 16][4];  // this warp's 16 rows
#pragma unroll
  for (int k = 0; k < d / 16; ++k)
    ldmatrix_x4(Q_rmem[k], smem.Q.at(warp * 16 + lane % 16, k * 16 + lane / 16 * 8));

  float O[d / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};
  for (int j = 0; j < blocks; ++j) {
    if (j > 0) cp_async_wait<0>();
    sync_threads();  // K_j is everybody's, and nobody reads V_{j-1} any more
    load_rows(smem.V, V, j * B_c, p.N_k);
    cp_async_commit();

    // S = Q K^T
    float S[B_c / 8][4] = {};
#pragma unroll
    for (int k = 0; k < d / 16; ++k)
#pragma unroll
      for (int n = 0; n < B_c / 8; n += 2) {
        uint32_t b[4];
        ldmatrix_x4(b, smem.K.at(n * 8 + lane % 8 + lane / 16 * 8, k * 16 + lane / 8 % 2 * 8));
        mma_m16n8k16<T>(S[n], Q_rmem[k], b[0], b[1]);
        mma_m16n8k16<T>(S[n + 1], Q_rmem[k], b[2], b[3]);
      }

    cp_async_wait<0>();
    sync_threads();  // V_j is everybody's, and nobody reads K_j any more
    if (j + 1 < blocks) load_rows(smem.K, K, (j + 1) * B_c, p.N_k);
    cp_async_commit();

    if ((j + 1) * B_c > p.N_k)
#pragma unroll
      for (int n = 0; n < B_c / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (j * B_c + n * 8 + lane % 4 * 2 + e % 2 >= p.N_k) S[n][e] = -INFINITY;

            // P = exp(S - m), l = rescaled l + rowsum(P), O = rescaled O
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float m_new = m[h];
#pragma unroll
      for (int n = 0; n < B_c / 8; ++n) m_new = fmaxf(m_new, fmaxf(S[n][2 * h], S[n][2 * h + 1]));
      m_new = quad_max(m_new);
      const float rescale = exp2_approx((m[h] - m_new) * scale_log2);
      m[h] = m_new;
      l[h] *= rescale;
#pragma unroll
      for (int n = 0; n < d / 8; ++n) {
        O[n][2 * h] *= rescale;
        O[n][2 * h + 1] *= rescale;
      }
#pragma unroll
      for (int n = 0; n < B_c / 8; ++n)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          S[n][e] = exp2_approx((S[n][e] - m_new) * scale_log2);
          l[h] += S[n][e];
        }
    }

    // O += P V
#pragma unroll
    for (int k = 0; k < B_c / 16; ++k) {
      const uint32_t P[4] = {pack<T>(S[2 * k][0], S[2 * k][1]), pack<T>(S[2 * k][2], S[2 * k][3]),
                             pack<T>(S[2 * k + 1][0], S[2 * k + 1][1]),
                             pack<T>(S[2 * k + 1][2], S[2 * k + 1][3])};
#pragma unroll
      for (int n = 0; n < d / 8; n += 2) {
        uint32_t b[4];
        ldmatrix_x4_trans(b, smem.V.at(k * 16 + lane % 16, n * 8 + lane / 16 * 8));
        mma_m16n8k16<T>(O[n], P, b[0], b[1]);
        mma_m16n8k16<T>(O[n + 1], P, b[2], b[3]);
      }
    }
  }

#pragma unroll
  for (int h = 0; h < 2; ++h) {
    l[h] = quad_sum(l[h]);
    const int i = row + h * 8;
    if (i >= p.N_q) continue;
    const gmem<T> O_row = p.O + (head * p.N_q + i) * d;
#pragma unroll
    for (int n = 0; n < d / 8; ++n)
      store_vector(O_row + n * 8 + lane % 4 * 2,
                   pack<T>(O[n][2 * h] / l[h], O[n][2 * h + 1] / l[h]));
    if (lane % 4 == 0) p.lse(head * p.N_q + i) = m[h] * p.scale + logf(l[h]);
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE::mma_forward
