#include "sim/io/visits.hpp"

#include <algorithm>

namespace flashbook::io {
namespace {

/// Position x sees the positions x + from … x + to of the other axis, cut to [0, n).
struct Reach {
  Index from, to, n;
};

Index clamp_sum(Index x, Index offset) {
  constexpr Index far = Index{1} << 61;
  return x + std::clamp(offset, -far, far);
}

Reach reach_of_rows(const AttentionProblem& problem, const Member& member) {
  constexpr Index far = Index{1} << 61;
  Index right = problem->window_right == unbounded ? far : problem->window_right;
  if (problem->causal) right = std::min<Index>(right, 0);
  const Index left = problem->window_left == unbounded ? far : problem->window_left;
  const Index diagonal = diagonal_of(problem, member);
  return {diagonal - left, diagonal + right, member.n_k};
}

/// The tiles [first, last) of `across` that the positions x0 … x1 − 1 reach together.
std::pair<Index, Index> reached_tiles(const Reach& reach, Index x0, Index x1, Index across) {
  const Index low = std::max<Index>(0, clamp_sum(x0, reach.from));
  const Index high = std::min(reach.n, clamp_sum(x1, reach.to));
  if (reach.from > reach.to || low >= high) return {0, 0};
  return {low / across, ceil_div(high, across)};
}

/// Each tile of `along` positions of [0, n) with the longest tile of `across` it reaches; calls
/// visit(length, number of tiles reached, positions in them).
template <class Visit>
std::set<std::pair<Index, Index>> walk(Index n, Index along, const Reach& reach, Index across,
                                       const Visit& visit) {
  std::set<std::pair<Index, Index>> shapes;
  std::pair<Index, Index> last_shape = {-1, -1};
  for (Index x = 0; x < n; x += along) {
    const Index length = std::min(along, n - x);
    const auto [first, last] = reached_tiles(reach, x, x + length, across);
    const Index positions = std::min(last * across, reach.n) - std::min(first * across, reach.n);
    const Index longest = last > first ? std::min(across, reach.n - first * across) : 0;
    if (last_shape != std::pair(length, longest)) shapes.insert(last_shape = {length, longest});
    visit(length, last - first, positions);
  }
  return shapes;
}

/// Without a mask every tile is visited: no walk.
Visits dense_visits(Index n_q, Index n_k, const Blocks& blocks) {
  const Index t_r = ceil_div(n_q, blocks.rows), t_c = ceil_div(n_k, blocks.columns);
  Visits v = {n_q * t_c, n_k * t_r, t_r * t_c, n_q * n_k, n_k > 0 ? n_q : 0, {}, {}};
  const Index b_r = std::min(blocks.rows, n_q), b_c = std::min(blocks.columns, n_k);
  if (n_q > 0) v.row_tiles.insert({b_r, b_c});
  if (n_k > 0) v.key_tiles.insert({b_c, b_r});
  return v;
}

}  // namespace

Visits visits_of(const AttentionProblem& problem, const Member& member, const Blocks& blocks) {
  if (!problem.is_masked()) return dense_visits(member.n_q, member.n_k, blocks);
  Visits v;
  const Reach rows = reach_of_rows(problem, member);
  const Reach keys = {-rows.to, -rows.from, member.n_q};
  v.row_tiles = walk(member.n_q, blocks.rows, rows, blocks.columns,
                     [&](Index length, Index tiles, Index positions) {
                       v.rows += length * tiles;
                       v.columns += positions;
                       v.tiles += tiles;
                       v.pairs += length * positions;
                       v.rows_once += tiles > 0 ? length : 0;
                     });
  v.key_tiles = walk(member.n_k, blocks.columns, keys, blocks.rows, [](Index, Index, Index) {});
  return v;
}

double visible_pairs(const AttentionProblem& problem, const Member& member) {
  const Reach reach = reach_of_rows(problem, member);
  double pairs = 0;
  walk(member.n_q, 1, reach, 1,
       [&](Index, Index, Index keys) { pairs += static_cast<double>(keys); });
  return pairs;
}

}  // namespace flashbook::io
