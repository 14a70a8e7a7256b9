#pragma once

#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cpu_reference/tensor_view.hpp"

/// Sequences of unequal lengths in one batch, in the two ways that kernels take them.
namespace flashbook::io {

/// Self-attention, d_v = d.
struct RaggedBatch {
  std::vector<Index> lengths;  ///< tokens of each sequence; 0 is ordinary
  Index heads_q = 1, heads_kv = 1, d = 64;
  DType dtype = DType::fp16;
  bool causal = false;

  Index tokens() const;   ///< Σ lengths
  Index longest() const;  ///< of the lengths
};

/// Throws InputError for no sequences, a negative length, and lengths whose padded batch has counts
/// that may pass 2^62; so do packed and padded.
void check(const RaggedBatch& batch);

/// The tokens end to end, cut by cu_seqlens: nothing but they are computed.
AttentionProblem packed(const RaggedBatch& batch);

/// A dense batch of the longest length, as a kernel sees it that is told nothing of the padding: it
/// moves and multiplies padding like tokens. (Its rows are thrown away; causal masks stay, and put
/// the padding last.)
AttentionProblem padded(const RaggedBatch& batch);

/// What part of `spent` was spent in vain if `used` would have done; 0 if nothing was spent.
double wasted_share(Index used, Index spent);

/// The same sequences in two padded batches, the shorter ones apart.
struct TwoBatches {
  Index shorter;  ///< sequences in the batch of shorter ones; 0: one batch is best
  Index longest_shorter;
  double pairs;  ///< query-key pairs a head, Σ sequences · longest², the fewest of all cuts
};

/// Throws InputError as check does.
TwoBatches best_two_batches(const RaggedBatch& batch);

}  // namespace flashbook::io
