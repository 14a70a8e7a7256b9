#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

/// Softmax of a row that arrives in pieces (Milakov and Gimelshein, arXiv 1805.02867).
///
/// A row's state is its running maximum m = max_j s_j and its sum ℓ = Σ_j e^(s_j − m); beside it
/// lives an accumulator o = Σ_j e^(s_j − m) v_j. When a new piece raises m, ℓ and o are multiplied
/// by e^(m_old − m): the one identity all of FlashAttention rests on.
///
///   3 then 5:   e^(3−5) = 0.135.   Then 10:   0.135 · e^(5−10) = 0.0009 = e^(3−10).
namespace flashbook::io {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// [state]
/// State of a row that has seen no key: the identity of merge.
struct SoftmaxState {
  float m = minus_infinity;
  float l = 0;

  /// ln Σ_j e^(s_j): −∞ for an empty row.
  float lse() const { return m + std::log(l); }
};
// [/state]

// [state_of_part]
/// State of a part of a row of which the LSE alone is known, its o being
/// divided by ℓ: all of ℓ is in m. A sink is such a part: its logit is its LSE,
/// and it has no o.
inline SoftmaxState state_of_part(float lse) {
  return {lse, lse == minus_infinity ? 0.f : 1.f};
}
// [/state_of_part]

/// P_z = e^(z − LSE): the sink's share of a row.
inline float sink_weight(float logit, float lse) {
  return logit == minus_infinity ? 0.f : std::exp(logit - lse);
}

// [rescale]
/// What to subtract from scores whose maximum is m. A row of −∞ scores has no
/// weight, but −∞ − −∞ would be NaN: subtract 0, and e^(−∞) = 0 says the rest.
inline float shift_of(float m) {
  return m == minus_infinity ? 0.f : m;
}

/// α = e^(m_old − m): what ℓ and o are multiplied by when the maximum rises.
inline float rescale(float m_old, float m) {
  return std::exp(m_old - shift_of(m));
}
// [/rescale]

/// e^x for an array, and exactly 0 for −∞: a hidden key must weigh nothing, but a vectorised exp
/// may return 3e-39. Weights below 2^-102 lose digits to the underflow, and none is larger.
template <class Array>
auto weights(const Array& x) {
  return x.exp() * 0x1p-24f * 0x1p24f;
}

// [absorb]
/// Takes in the scores of one more tile: updates m and ℓ, turns the scores s
/// into P = e^(s − m) and returns α. NaN or +∞ among them makes the row NaN.
template <class Row>
float absorb(Row&& scores, float& m, float& l) {
  if (scores.size() == 0) return 1;
  const float m_old = m;
  m = std::max(m_old, scores.maxCoeff());
  const float alpha = rescale(m_old, m);
  scores = weights(scores - shift_of(m));
  l = alpha * l + scores.sum();
  return alpha;
}
// [/absorb]

// [merge]
/// Two parts of a row joined: the state, and what to multiply each part's o by.
struct Merged {
  SoftmaxState state;
  float weight_a, weight_b;
};

/// Associative and commutative: parts may be computed anywhere, and joined in
/// any order.
inline Merged merge(const SoftmaxState& a, const SoftmaxState& b) {
  const float m = std::max(a.m, b.m);
  const float weight_a = rescale(a.m, m), weight_b = rescale(b.m, m);
  return {{m, weight_a * a.l + weight_b * b.l}, weight_a, weight_b};
}
// [/merge]

}  // namespace flashbook::io
