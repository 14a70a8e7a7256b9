// Softmax in powers of 2: the special function unit computes 2^x, and e^x costs instructions more.
// The scale goes along, so that a weight is one multiply-add and one exp2:
//
//   e^(scale s - scale m) = 2^(c s - M),  c = scale log2 e,  M = c m
//
// M is rounded: each exponent is off by up to 2^-24 |M|, no more than rounding made of the score.
// But the weight of the maximum must be 1, since a row that sees one key gets its V: up to |M| =
// 2^10 the 16-bit types round it to 1. Beyond, a weight is 2^(c (s - m)), an instruction more.
#pragma once

#include "cuda/rules/mma.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

// [exponents]
/// How scores become exponents of 2. A scale that is not positive turns their order around, or
/// makes NaN of -inf: then products are multiplied before they are masked. So they are where c
/// would overflow or lose digits.
struct Exponents {
  float first;  ///< what products are multiplied by at once: 1, or the scale
  float scale;  ///< what is left to multiply by, positive: the scale, or 1
  float c;      ///< scale log2 e

  /// Whether a scale is left to the exponent.
  FLASHBOOK_HOST_DEVICE static bool folds(float scale) {
    return scale > 0x1p-100f && scale < 0x1p100f;
  }

  FLASHBOOK_HOST_DEVICE explicit Exponents(float of) {
    const bool fold = folds(of);
    first = fold ? 1 : of;
    scale = fold ? of : 1;
    c = 1.44269504f * scale;
  }
  /// Nothing is left to do before scores are compared.
  FLASHBOOK_HOST_DEVICE bool folded() const { return first == 1; }
};
// [/exponents]

// [weights]
/// The maximum that weights are relative to: 0 while nothing but hidden scores was seen, since -inf
/// - -inf would be NaN.
FLASHBOOK_DEVICE float base_of(float m) {
  return m == -INFINITY ? 0 : m;
}
/// Whether weights may be 2^(c s - M).
FLASHBOOK_DEVICE bool takes_product(const Exponents& e, float m) {
  return fabsf(e.c * base_of(m)) <= 0x1p10f;
}

/// Row h of S, products, becomes P = 2^(c (S - m)). Returns this lane's part of its sum.
template <int n_8>
FLASHBOOK_DEVICE float weigh_row(float (&S)[n_8][4], int h, const Exponents& e, float m) {
  const float base = base_of(m);
  float l = 0;
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) l += S[n][i] = exp2_approx(e.c * (S[n][i] - base));
  return l;
}
/// The same as 2^(c S - M), if m takes it.
template <int n_8>
FLASHBOOK_DEVICE float weigh_row_by_product(float (&S)[n_8][4], int h, const Exponents& e,
                                            float m) {
  const float M = e.c * base_of(m);
  float l = 0;
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) l += S[n][i] = exp2_approx(fmaf(e.c, S[n][i], -M));
  return l;
}
// [/weights]

/// Multiplies products by e.first and hides those of keys that a row does not see, in the rows
/// `row` and `row` + 8 of a tile of S that begins at key `first_key`. Rungs take no window: a row
/// sees all keys before its last.
template <int n_8>
FLASHBOOK_DEVICE void mask(float (&S)[n_8][4], const Exponents& e, const Visible& visible, int row,
                           int first_key) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int seen = visible.keys_of(row + 8 * h).end - first_key - mma::lane() % 4 * 2;
#pragma unroll
    for (int n = 0; n < n_8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& s = S[n][2 * h + i];
        s = 8 * n + i < seen ? e.first * s : -INFINITY;
      }
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE
