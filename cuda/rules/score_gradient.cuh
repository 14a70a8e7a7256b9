// What backward passes make of scores: weights by the LSE, and gradients. docs/contract.md,
// section 5.
#pragma once

#include "cuda/rules/fma.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Rows of a head that backward reads: those of a range that are not empty. Nothing that Q, dO, O
/// or D holds of an empty row may matter.
struct Rows {
  Range range;
  gmem<const float> lse;  ///< of the head, from its row 0

  FLASHBOOK_DEVICE bool holds(int i) const { return lse_of(i) != -INFINITY; }
  /// -inf of an empty row, and of one outside the range.
  FLASHBOOK_DEVICE float lse_of(int i) const { return range.holds(i) ? float(lse(i)) : -INFINITY; }
};

/// 0 in this thread's rows that are empty, counted from `first`. What they sum is 0 times a tile
/// of K, and that may hold NaN or Inf.
template <int n>
FLASHBOOK_DEVICE void clear_empty_rows(float (&dQ)[fma::thread_rows][n], const Rows& rows,
                                       int first) {
#pragma unroll
  for (int r = 0; r < fma::thread_rows; ++r)
    if (!rows.holds(first + fma::row(r)))
#pragma unroll
      for (float& x : dQ[r]) x = 0;
}

/// Whether a pair adds nothing: it is hidden, so its score is -inf, or its row is empty, so its LSE
/// is. P and dS are then selected away: exp(-inf - -inf) and 0 times a NaN of dP are NaN.
FLASHBOOK_DEVICE bool adds_nothing(float s, float lse) {
  return s == -INFINITY || lse == -INFINITY;
}

/// P = e^(s - LSE), 0 of a pair that adds nothing.
///
/// The LSE is at least each score. Where rounding has it otherwise, as it may at scores of 1e10
/// when forward summed q k in another order, the weight is 1.
FLASHBOOK_DEVICE float weight_by_lse(float s, float lse) {
  const float exponent = s - lse, P = exponential(exponent > 0 ? 0 : exponent);
  return adds_nothing(s, lse) ? 0 : P;  // selected, no branch: lanes stay together
}

}  // namespace flashbook::FLASHBOOK_MACHINE
