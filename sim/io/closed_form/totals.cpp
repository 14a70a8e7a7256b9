#include "sim/io/closed_form/totals.hpp"

#include <algorithm>

namespace flashbook::io {
namespace {

void add(Totals& sum, const Member& m, const Visits& v, const Blocks& blocks, Index times) {
  sum.members += times;
  sum.n_q += times * m.n_q;
  sum.n_k += times * m.n_k;
  sum.pairs += times * m.n_q * m.n_k;
  sum.row_tiles += times * ceil_div(m.n_q, blocks.rows);
  sum.key_tiles += times * ceil_div(m.n_k, blocks.columns);
  sum.visited.rows += times * v.rows;
  sum.visited.columns += times * v.columns;
  sum.visited.tiles += times * v.tiles;
  sum.visited.pairs += times * v.pairs;
  sum.visited.rows_once += times * v.rows_once;
  sum.visited.row_tiles.insert(v.row_tiles.begin(), v.row_tiles.end());
  sum.visited.key_tiles.insert(v.key_tiles.begin(), v.key_tiles.end());
}

/// Longest tile of an axis of the bias: tiles stay within a member, or within the slack.
Index longest_bias_tile(const AttentionProblem& p, bool queries, Index block) {
  if (p->bias_shape[queries ? 2 : 3] == 1) return 1;
  const Index tokens = queries ? p->n_q : p->n_k;
  if (!p->packed) return std::min(block, tokens);
  Index longest = tokens - (queries ? p.first_slack_q() : p.first_slack_k());
  for (Index b = 0; b < p->members; ++b)
    longest = std::max(longest, queries ? p.member(b).n_q : p.member(b).n_k);
  return std::min(block, longest);
}

}  // namespace

Totals totals_of(const AttentionProblem& problem, const Blocks& blocks) {
  Totals sum;
  for_members(problem, [&](const Member& m, Index times) {
    add(sum, m, visits_of(problem, m, blocks), blocks, times);
  });
  return sum;
}

Index bias_reads(const AttentionProblem& problem, const Visits& v) {
  const bool per_query = problem->bias_shape[2] != 1, per_key = problem->bias_shape[3] != 1;
  if (per_query && per_key) return v.pairs;
  return per_query ? v.rows : per_key ? v.columns : v.tiles;
}

Index bias_tile_bytes(const AttentionProblem& p, const Blocks& blocks) {
  if (p.bias_size() == 0) return 0;
  return 4 * longest_bias_tile(p, true, blocks.rows) * longest_bias_tile(p, false, blocks.columns);
}

}  // namespace flashbook::io
