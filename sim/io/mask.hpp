#pragma once

#include <algorithm>

#include "cpu_reference/attention_problem.hpp"

/// Which pairs of a member are visible, decided a tile at a time. This shares no code with
/// AttentionProblem::visible, by which the oracle decides pair by pair, nor the diagonal that it
/// refers to: a test compares the two.
namespace flashbook::io {

using Index = std::int64_t;

/// first ≤ x < last; empty if first ≥ last.
struct Range {
  Index first, last;

  constexpr Index size() const { return std::max<Index>(last - first, 0); }
  constexpr bool empty() const { return last <= first; }
};

constexpr Range intersection(Range a, Range b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

constexpr Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}

/// Tile `index` of the tiles of `block` rows that cut [0, n).
constexpr Range tile_of(Index index, Index block, Index n) {
  return {index * block, std::min((index + 1) * block, n)};
}

/// Indices of the tiles of `block` rows that a range touches.
constexpr Range tiles_touching(Range range, Index block) {
  if (range.empty()) return {};
  return {range.first / block, (range.last - 1) / block + 1};
}

enum class TileClass { skip, partial, full };

/// Causal and window masks are one band around the diagonal: row i sees the keys j with
/// −left ≤ j − (i + diagonal) ≤ right. Sides may be negative; left + right < 0 is an empty band.
struct Band {
  Index left, right, diagonal;
  Index n_q, n_k;

  /// Keys that at least one of the rows sees. Neighbouring rows' keys overlap or touch, so that
  /// their union has no gap.
  constexpr Range keys_seen_by(Range rows) const {
    if (rows.empty() || left + right < 0) return {};
    return intersection({rows.first + diagonal - left, rows.last + diagonal + right}, {0, n_k});
  }

  /// Rows that see at least one of the keys.
  constexpr Range rows_that_see(Range keys) const {
    if (keys.empty() || left + right < 0) return {};
    return intersection({keys.first - diagonal - right, keys.last - diagonal + left}, {0, n_q});
  }

  constexpr TileClass classify(Range rows, Range keys) const {
    if (intersection(keys_seen_by(rows), keys).empty()) return TileClass::skip;
    const bool top_right = keys.last - 1 - (rows.first + diagonal) <= right;
    const bool bottom_left = keys.first - (rows.last - 1 + diagonal) >= -left;
    return top_right && bottom_left ? TileClass::full : TileClass::partial;
  }
};

/// Key on the diagonal of a member's query row 0: negative where N_q > N_k, bottom-right.
inline Index diagonal_of(const AttentionProblem& problem, const Member& member) {
  return problem.alignment() == Alignment::top_left ? 0 : member.n_k - member.n_q;
}

inline Band band_of(const AttentionProblem& problem, const Member& member) {
  // Beyond every index, and small enough that sums of a few do not overflow.
  constexpr Index no_limit = Index{1} << 61;
  const auto side = [](Index keys) { return keys == unbounded ? no_limit : keys; };
  const Index right = side(problem->window_right);
  return {side(problem->window_left), problem->causal ? std::min<Index>(right, 0) : right,
          diagonal_of(problem, member), member.n_q, member.n_k};
}

}  // namespace flashbook::io
