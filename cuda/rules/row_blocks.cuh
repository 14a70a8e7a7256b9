// Products of a warp that computes R blocks of 16 rows: each fragment of K and V that ldmatrix
// brings is multiplied R times.
#pragma once

#include "cuda/rules/exp2.cuh"

namespace flashbook::FLASHBOOK_MACHINE::mma {

/// The result of one product as the left operand of the next: both hold the same elements.
template <class T, int R, int n_8>
FLASHBOOK_DEVICE void to_left(uint32_t (&P)[R][n_8 / 2][4], const float (&S)[R][n_8][4]) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int k = 0; k < n_8; k += 2)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        P[r][k / 2][i] = pack<T>(S[r][k + i / 2][i % 2 * 2], S[r][k + i / 2][i % 2 * 2 + 1]);
}

/// Row h of P = 2^(c S - M), rounded to T, as a left operand. Returns this lane's part of the sum.
template <class T, int n_8>
FLASHBOOK_DEVICE float weigh_row_standing(uint32_t (&P)[n_8 / 2][4], const float (&S)[n_8][4],
                                          int h, float c, float M) {
  float l = 0;
#pragma unroll
  for (int n = 0; n < n_8; ++n) {
    const float first = exp2_approx(fmaf(c, S[n][2 * h], -M)),
                second = exp2_approx(fmaf(c, S[n][2 * h + 1], -M));
    l += first;
    l += second;
    P[n / 2][n % 2 * 2 + h] = pack<T>(first, second);
  }
  return l;
}

/// Softmax of the R x 2 rows of a lane.
template <int R>
struct RowBlocks {
  RowState row[R][2];
  bool by_product = true;  ///< weights are 2^(c s - M), in the whole warp

  /// m~ = rowmax S, of a tile alone.
  template <int n_8>
  FLASHBOOK_DEVICE static void maxima(float (&m_tile)[R][2], const float (&S)[R][n_8][4]) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) m_tile[r][h] = row_max(S[r], h);
  }

  // [raise]
  /// Whether a row of the warp has m~ > m + slack.
  FLASHBOOK_DEVICE bool any_above(const float (&m_tile)[R][2], float slack) const {
    bool above = false;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) above = above || m_tile[r][h] > row[r][h].m + slack;
    return any(above);
  }

  /// m = max(m_old, m~), l = e^(m_old - m) l; O must be multiplied by `factor`, e^(m_old - m).
  FLASHBOOK_DEVICE void follow(const float (&m_tile)[R][2], float (&factor)[R][2],
                               const Exponents& e) {
    bool takes = true;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float m = fmaxf(row[r][h].m, m_tile[r][h]);
        factor[r][h] = exp2_approx(e.c * (row[r][h].m - base_of(m)));
        row[r][h] = {m, factor[r][h] * row[r][h].l};
        takes = takes && takes_product(e, m);
      }
    by_product = all(takes);
  }

  /// O = factor O.
  template <int D_8>
  FLASHBOOK_DEVICE static void rescale(float (&O)[R][D_8][4], const float (&factor)[R][2]) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) multiply_row(O[r], h, factor[r][h]);
  }

  /// Both.
  template <int D_8>
  FLASHBOOK_DEVICE void raise(const float (&m_tile)[R][2], float (&O)[R][D_8][4],
                              const Exponents& e) {
    float factor[R][2];
    follow(m_tile, factor, e);
    rescale(O, factor);
  }
  // [/raise]

  /// P = e^(S - m), in S's place, l = l + rowsum P.
  template <int n_8>
  FLASHBOOK_DEVICE void weigh(float (&S)[R][n_8][4], const Exponents& e) {
    if (by_product) {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int h = 0; h < 2; ++h) row[r][h].l += weigh_row_by_product(S[r], h, e, row[r][h].m);
    } else {
      weigh_differences(S, e);
    }
  }
  /// The same as 2^(c (s - m)), whatever the maxima are.
  template <int n_8>
  FLASHBOOK_DEVICE void weigh_differences(float (&S)[R][n_8][4], const Exponents& e) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) row[r][h].l += weigh_row(S[r], h, e, row[r][h].m);
  }

  // [standing]
  /// P = 2^(c S - M) relative to the maxima that stand, if by_product; l = l + rowsum P: true. No
  /// maximum is looked for. If a sum shows that a score is far above, or that a row has no maximum:
  /// false, and only P was written. The same for the warp.
  template <class T, int n_8>
  FLASHBOOK_DEVICE bool weigh_standing(uint32_t (&P)[R][n_8 / 2][4], const float (&S)[R][n_8][4],
                                       const Exponents& e) {
    constexpr float most = 0x1p12f;  // of a lane's sum; NaN and infinity are more
    float l[R][2];
    bool stands = true;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        l[r][h] = weigh_row_standing<T>(P[r], S[r], h, e.c, e.c * row[r][h].m);
        stands = stands && l[r][h] <= most;
      }
    if (!all(stands)) return false;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) row[r][h].l += l[r][h];
    return true;
  }
  /// The maxima follow S, O and l with them; P and l as above, by differences. S is overwritten.
  template <class T, int n_8, int D_8>
  FLASHBOOK_DEVICE void weigh_anew(uint32_t (&P)[R][n_8 / 2][4], float (&S)[R][n_8][4],
                                   float (&O)[R][D_8][4], const Exponents& e) {
    float m_tile[R][2];
    maxima(m_tile, S);
    raise(m_tile, O, e);
    weigh_differences(S, e);
    to_left<T>(P, S);
  }
  // [/standing]
};

// [multiply_QK]
/// S = Q K^T, for the rows of Q from `row` on.
template <class T, int D, int R, int n_8, class Q_tile, class K_tile>
FLASHBOOK_DEVICE void multiply_QK(float (&S)[R][n_8][4], Q_tile& Q, int row, K_tile& K) {
#pragma unroll
  for (int r = 0; r < R; ++r) clear(S[r]);
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    uint32_t a[R][4];
#pragma unroll
    for (int r = 0; r < R; ++r) load_left(a[r], Q, row, 16 * r, k);
#pragma unroll
    for (int n = 0; n < n_8; n += 2) {
      uint32_t b[4];
      load_K(b, K, n * 8, k);
#pragma unroll
      for (int r = 0; r < R; ++r) mma_m16n8k16<T>(S[r][n], a[r], b[0], b[1]);
#pragma unroll
      for (int r = 0; r < R; ++r) mma_m16n8k16<T>(S[r][n + 1], a[r], b[2], b[3]);
    }
  }
}
// [/multiply_QK]

/// O += P V.
template <class T, int D, int R, int k_16, class V_tile>
FLASHBOOK_DEVICE void add_PV(float (&O)[R][D / 8][4], const uint32_t (&P)[R][k_16][4], V_tile& V) {
#pragma unroll
  for (int k = 0; k < k_16; ++k)
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
      uint32_t b[4];
      load_V(b, V, k * 16, n * 8);
#pragma unroll
      for (int r = 0; r < R; ++r) mma_m16n8k16<T>(O[r][n], P[r][k], b[0], b[1]);
#pragma unroll
      for (int r = 0; r < R; ++r) mma_m16n8k16<T>(O[r][n + 1], P[r][k], b[2], b[3]);
    }
}

}  // namespace flashbook::FLASHBOOK_MACHINE::mma
