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

}  // namespace flashbook::io
