#include "sim/io/closed_form/footprint.hpp"

#include <algorithm>

namespace flashbook::io {

Index bias_bytes(const AttentionProblem& problem, const Blocks& tile, Index element_bytes) {
  if (!problem->has_bias) return 0;
  return element_bytes * (problem->bias_shape[2] == 1 ? 1 : tile.rows) *
         (problem->bias_shape[3] == 1 ? 1 : tile.columns);
}

namespace {

Index input_bytes(const AttentionProblem& problem) {
  return bytes_of(problem.dtype());
}

/// Q and dO in the input type; LSE and D.
Index query_side(const AttentionProblem& problem, Index rows) {
  return rows * (problem->d + problem->d_v) * input_bytes(problem) + Index{2 * 4} * rows;
}

/// K and V.
Index key_side(const AttentionProblem& problem, Index keys) {
  return keys * (problem->d + problem->d_v) * input_bytes(problem);
}

/// S (then P) and dP (then dS); the soft-cap's slope; the bias.
Index recomputed(const AttentionProblem& problem, const Blocks& tile) {
  return Index{problem->softcap > 0 ? 12 : 8} * tile.rows * tile.columns +
         bias_bytes(problem, tile, input_bytes(problem));
}

}  // namespace

Index fa2_forward_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index Q = tile.rows * problem->d * input_bytes(problem);
  const Index O_m_l = 4 * tile.rows * (problem->d_v + 2);
  if (tile.columns == 0) return Q + O_m_l;
  return Q + O_m_l + key_side(problem, tile.columns) + 4 * tile.rows * tile.columns +
         bias_bytes(problem, tile, input_bytes(problem));
}

Index fa1_forward_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index K_V = key_side(problem, tile.columns);
  if (tile.rows == 0) return K_V;
  const Index Q = tile.rows * problem->d * input_bytes(problem);
  const Index O_m_l = 4 * tile.rows * (problem->d_v + 2);
  return K_V + Q + O_m_l + 4 * tile.rows * tile.columns +
         bias_bytes(problem, tile, input_bytes(problem));
}

Index split_kv_decode_footprint(const AttentionProblem& problem, const Blocks& tile) {
  // The combine kernel: O, m, ℓ, and O and LSE of one run.
  const Index combine = 4 * tile.rows * (2 * problem->d_v + 3);
  return std::max(fa2_forward_footprint(problem, tile), combine);
}

Index query_kernel_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index own = query_side(problem, tile.rows) + 4 * tile.rows * problem->d;
  if (tile.columns == 0) return own;
  return own + key_side(problem, tile.columns) + recomputed(problem, tile);
}

Index key_kernel_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index own =
      key_side(problem, tile.columns) + 4 * tile.columns * (problem->d + problem->d_v);
  if (tile.rows == 0) return own;
  return own + query_side(problem, tile.rows) + recomputed(problem, tile);
}

Index bias_kernel_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return bias_bytes(problem, tile, 4) + query_side(problem, tile.rows) +
         key_side(problem, tile.columns) + recomputed(problem, tile);
}

Index delta_kernel_footprint(const AttentionProblem& problem, Index rows) {
  return rows * (2 * problem->d_v * input_bytes(problem) + 4);
}

Index three_kernel_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return std::max({query_kernel_footprint(problem, tile), key_kernel_footprint(problem, tile),
                   problem->has_bias ? bias_kernel_footprint(problem, tile) : Index{0},
                   delta_kernel_footprint(problem, tile.rows)});
}

Index dq_footprint(const AttentionProblem& problem, Index rows) {
  return 4 * rows * problem->d;
}

Index held_visit_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index O = tile.rows * problem->d_v * input_bytes(problem);
  return key_kernel_footprint(problem, tile) + O + dq_footprint(problem, tile.rows);
}

Index fused_visit_footprint(const AttentionProblem& problem, const Blocks& tile) {
  const Index bias = bias_bytes(problem, tile, input_bytes(problem));
  return key_kernel_footprint(problem, tile) - bias +
         std::max(bias, dq_footprint(problem, tile.rows));
}

Index bias_kernel_with_o_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return bias_kernel_footprint(problem, tile) + tile.rows * problem->d_v * input_bytes(problem);
}

Index fa1_backward_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return std::max(held_visit_footprint(problem, tile),
                  problem->has_bias ? bias_kernel_with_o_footprint(problem, tile) : Index{0});
}

Index fa2_backward_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return std::max(held_visit_footprint(problem, tile),
                  problem->has_bias ? bias_kernel_footprint(problem, tile) : Index{0});
}

Index fused_backward_footprint(const AttentionProblem& problem, const Blocks& tile) {
  return std::max({fused_visit_footprint(problem, tile),
                   problem->has_bias ? bias_kernel_footprint(problem, tile) : Index{0},
                   delta_kernel_footprint(problem, tile.rows)});
}

}  // namespace flashbook::io
