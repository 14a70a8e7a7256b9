// The rule that makes weights of scores: mask, running maximum, sum. docs/contract.md, sections 2
// and 4.
#pragma once

#include "cuda/rules/visible.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// The score of a key for a row that sees `keys`. What is hidden is selected away, whatever its
/// product: it may be NaN.
FLASHBOOK_DEVICE float score(float product, float scale, Range keys, int key) {
  return keys.holds(key) ? scale * product : -INFINITY;
}

/// e^(s - m), and 0 while nothing but hidden scores was seen: m is -inf then, and -inf - -inf would
/// be NaN.
FLASHBOOK_DEVICE float weight(float s, float m) {
  return exponential(s - (m == -INFINITY ? 0.f : m));
}

/// The maximum over `lanes` neighbouring lanes, a power of 2; in all of them.
template <int lanes>
FLASHBOOK_DEVICE float lanes_max(float x) {
#pragma unroll
  for (int mask = 1; mask < lanes; mask *= 2) x = fmaxf(x, shuffle_xor(x, mask));
  return x;
}
template <int lanes>
FLASHBOOK_DEVICE float lanes_sum(float x) {
#pragma unroll
  for (int mask = 1; mask < lanes; mask *= 2) x += shuffle_xor(x, mask);
  return x;
}

/// What the scores of a row were so far.
struct RowState {
  float m = -INFINITY;  ///< their maximum
  float l = 0;          ///< the sum of e^(s - m)

  /// Adds the scores of a tile, of which this thread holds n and the `lanes` - 1 lanes beside it
  /// the others. They become P = e^(s - m). Returns e^(m_old - m), by which sums of old weights
  /// must be multiplied.
  template <int lanes, int n>
  FLASHBOOK_DEVICE float add(float (&S)[n]) {
    const float l_old = l;
    l = 0;
    const float rescale = add_part<lanes>(S);
    l = rescale * l_old + lanes_sum<lanes>(l);
    return rescale;
  }
  /// The same, but l is the sum of this thread's weights alone.
  template <int lanes, int n>
  FLASHBOOK_DEVICE float add_part(float (&S)[n]) {
    const float m_old = m;
    float m_tile = -INFINITY;
#pragma unroll
    for (int i = 0; i < n; ++i) m_tile = fmaxf(m_tile, S[i]);
    m = fmaxf(m_old, lanes_max<lanes>(m_tile));
    const float rescale = weight(m_old, m);
    l *= rescale;
#pragma unroll
    for (int i = 0; i < n; ++i) l += S[i] = weight(S[i], m);
    return rescale;
  }

  /// o / l; 0 for a row that saw nothing, whatever o is.
  FLASHBOOK_DEVICE float normalised(float o) const {
    return l == 0 ? 0 : o * (1 / l);
  }
  /// -inf for a row that saw nothing.
  FLASHBOOK_DEVICE float lse() const {
    return m + logf(l);
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
