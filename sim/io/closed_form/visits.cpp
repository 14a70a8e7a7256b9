#include "sim/io/closed_form/visits.hpp"

#include <algorithm>

namespace flashbook::io {
namespace {

/// Position x sees the positions x + from … x + to of the other axis, cut to [0, n).
struct Reach {
  Index from, to, n;
};

Reach reach_of_rows(const AttentionProblem& problem, const Member& member) {
  // Beyond every index, and small enough that sums of a few do not overflow.
  constexpr Index far = Index{1} << 60;
  Index right = problem->window_right == unbounded ? far : problem->window_right;
  if (problem->causal) right = std::min<Index>(right, 0);
  const Index left = problem->window_left == unbounded ? far : problem->window_left;
  const Index diagonal = diagonal_of(problem, member);
  return {std::clamp(diagonal - left, -far, far), std::clamp(diagonal + right, -far, far),
          member.n_k};
}

/// Σ ⌊(a·k + b) / m⌋ over 0 ≤ k < n, for a, b ≥ 0, in as many steps as Euclid's algorithm takes for
/// (a, m): what is left of a/m and b/m without their whole parts is a sum over the quotient's
/// values y, of the k that reach them, whose slope is m/a.
Index sum_of_quotients(Index n, Index a, Index b, Index m) {
  const Index whole = n * (n - 1) / 2 * (a / m) + n * (b / m);
  a %= m;
  b %= m;
  const Index largest = (a * n + b) / m;
  if (largest == 0) return whole;
  return whole + largest * n - sum_of_quotients(largest, m, m - b + a - 1, a);
}

/// A point of the other axis that moves with the tiles: step · i + offset, cut to [0, high].
struct Edge {
  Index step, offset, high;

  /// The first i of a range at which the point, uncut, is at x or beyond it.
  Index first_at(Index x, Range range) const {
    return std::clamp(ceil_div(x - offset, step), range.first, range.last);
  }
  /// Σ ⌊point / m⌋: it stays at 0, rises, and stays at high.
  Index sum(Range range, Index m) const {
    const Index rises = first_at(0, range);
    const Index stays = first_at(high, {rises, range.last});
    return sum_of_quotients(stays - rises, step, step * rises + offset, m) +
           (range.last - stays) * (high / m);
  }
};

/// Adds the tiles i of a range, `length` positions from i · along on, and what they visit.
void add_tiles(Visits& v, Range range, Index along, Index length, const Reach& reach,
               Index across) {
  const Index n = reach.n, past_last = ceil_div(n, across) * across;
  const Edge begin = {along, reach.from, n};
  const Edge end = {along, reach.to + length + across - 1,
                    n + across - 1};  // of the last tile seen
  Range seeing = {end.first_at(across, range), begin.first_at(n, range)};
  if (reach.from > reach.to || n == 0) seeing = {range.first, range.first};

  const Index tiles = end.sum(seeing, across) - begin.sum(seeing, across);
  const Index seeing_the_last = seeing.last - end.first_at(past_last, seeing);
  const Index positions = tiles * across - seeing_the_last * (past_last - n);
  v.rows += length * tiles;
  v.columns += positions;
  v.tiles += tiles;
  v.pairs += length * positions;
  v.rows_once += length * seeing.size();

  if (seeing.size() < range.size()) v.row_tiles.insert({length, 0});
  if (seeing.empty()) return;
  // The longest that any visits is the first that the first visits: only the last may be shorter.
  const Index first = std::max<Index>(0, seeing.first * along + reach.from) / across;
  v.row_tiles.insert({length, std::min(across, n - first * across)});
}

/// Tiles of `along` of n positions, all full but the last, that visit tiles of `across`.
Visits visits_along(Index n, Index along, const Reach& reach, Index across) {
  Visits v;
  const Index full = n / along, rest = n % along;
  add_tiles(v, {0, full}, along, along, reach, across);
  if (rest > 0) add_tiles(v, {full, full + 1}, along, rest, reach, across);
  return v;
}

/// Σ of x + offset cut to [0, most] over 0 ≤ x < n: nothing, then an arithmetic series, then
/// `most`.
double sum_of_cut(Index n, Index offset, Index most) {
  const Index first = std::clamp<Index>(-offset, 0, n);
  const Index last = std::clamp<Index>(most - offset, first, n);
  const auto rising = static_cast<double>(last - first), level = static_cast<double>(n - last);
  const auto ends = static_cast<double>(first + last - 1 + 2 * offset);
  return rising * ends / 2 + level * static_cast<double>(most);
}

}  // namespace

Visits visits_of(const AttentionProblem& problem, const Member& member, const Blocks& blocks) {
  const Reach rows = reach_of_rows(problem, member);
  const Reach keys = {-rows.to, -rows.from, member.n_q};
  Visits v = visits_along(member.n_q, blocks.rows, rows, blocks.columns);
  v.key_tiles = visits_along(member.n_k, blocks.columns, keys, blocks.rows).row_tiles;
  return v;
}

double visible_pairs(const AttentionProblem& problem, const Member& member) {
  const Reach reach = reach_of_rows(problem, member);
  if (reach.from > reach.to) return 0;
  return sum_of_cut(member.n_q, reach.to + 1, reach.n) -
         sum_of_cut(member.n_q, reach.from, reach.n);
}

}  // namespace flashbook::io
