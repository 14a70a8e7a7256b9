#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// Bytes of SRAM that an algorithm's largest kernel holds for one row tile of `tile.rows` queries
/// and one key tile of `tile.columns` keys: 0 columns (or rows) where it visits none.
Index fa2_forward_footprint(const AttentionProblem& problem, const Blocks& tile);
Index fa1_forward_footprint(const AttentionProblem& problem, const Blocks& tile);
Index split_kv_decode_footprint(const AttentionProblem& problem, const Blocks& tile);
Index query_kernel_footprint(const AttentionProblem& problem, const Blocks& tile);
Index key_kernel_footprint(const AttentionProblem& problem, const Blocks& tile);
Index bias_kernel_footprint(const AttentionProblem& problem, const Blocks& tile);
Index delta_kernel_footprint(const AttentionProblem& problem, Index rows);

/// Of a tile of S's worth of bias, in the bias's own shape; 0 without one.
Index bias_bytes(const AttentionProblem& problem, const Blocks& tile, Index element_bytes);

/// The largest of the kernels of three_kernel_backward.
Index three_kernel_footprint(const AttentionProblem& problem, const Blocks& tile);

/// One visit of a backward pass with keys outside and queries inside, whose key tile has gradients
/// beside it: with O and dQ held throughout (FA1, FA2), or dQ after the other products (fused).
/// 0 rows: the key tile alone.
Index held_visit_footprint(const AttentionProblem& problem, const Blocks& tile);
Index fused_visit_footprint(const AttentionProblem& problem, const Blocks& tile);
/// The dBias kernel of a pass that computes D from O at every visit.
Index bias_kernel_with_o_footprint(const AttentionProblem& problem, const Blocks& tile);
/// One tile [rows, d] of dQ in fp32.
Index dq_footprint(const AttentionProblem& problem, Index rows);

/// The largest of the kernels of fa1_backward, of fa1_backward_shipped and fa2_backward, and of
/// fused_backward.
Index fa1_backward_footprint(const AttentionProblem& problem, const Blocks& tile);
Index fa2_backward_footprint(const AttentionProblem& problem, const Blocks& tile);
Index fused_backward_footprint(const AttentionProblem& problem, const Blocks& tile);

}  // namespace flashbook::io
