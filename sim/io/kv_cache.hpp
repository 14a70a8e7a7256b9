#pragma once

#include "cpu_reference/attention_problem.hpp"
#include "cpu_reference/tensor_view.hpp"

/// Attention memory of a decoder that generates text: the scores that standard attention keeps, and
/// the keys and values that every attention keeps.
namespace flashbook::io {

/// The attention layers of a decoder, d_v = d.
struct DecoderShape {
  Index layers = 1, heads_q = 1, heads_kv = 1, d = 128;
  Index batch = 1;  ///< sequences that are generated side by side
  DType dtype = DType::fp16;
};

/// K and V of all layers, kept as long as a sequence grows: 2 · layers · B · N · H_kv · d elements.
Index kv_cache_bytes(const DecoderShape& shape, Index tokens);

/// S [B, H_q, N, N] of one layer, N² elements a head. Inference has one layer in flight; a backward
/// pass with standard attention keeps P of all of them.
Index score_bytes(const DecoderShape& shape, Index tokens);

/// The N at which one layer's S is as large as the whole cache: 2 · layers · d · H_kv / H_q. Batch
/// and type play no part.
double crossing_tokens(const DecoderShape& shape);

/// One layer on a prompt of N tokens: N_q = N_k = N, causal.
AttentionProblem prefill_problem(const DecoderShape& shape, Index tokens);

/// One layer on one new token a sequence: N_q = 1, N_k = N, itself included.
AttentionProblem decode_problem(const DecoderShape& shape, Index tokens);

/// The same arithmetic with a group's query heads as rows of one tile, [B, H_kv, H_q / H_kv, d], so
/// that K and V are read once a group and not once a query head.
AttentionProblem grouped_decode_problem(const DecoderShape& shape, Index tokens);

/// All of the above throw InputError for sizes below 1 or counts that may pass 2^62, and the
/// problems for query heads that are no multiple of the key/value heads.
void check(const DecoderShape& shape, Index tokens);

}  // namespace flashbook::io
