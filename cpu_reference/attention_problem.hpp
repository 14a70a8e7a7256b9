#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu_reference/element_types.hpp"
#include "cpu_reference/problem.h"

namespace flashbook {

inline constexpr std::int64_t unbounded = FLASHBOOK_UNBOUNDED;

enum class Alignment : std::int32_t {
  bottom_right = FLASHBOOK_BOTTOM_RIGHT,
  top_left = FLASHBOOK_TOP_LEFT
};

std::string_view name(Alignment alignment);

/// One sequence of a batch: where its queries and keys lie in the tensors.
struct Member {
  std::int64_t index;             ///< b
  std::int64_t batch;             ///< batch entry that holds it: b when dense, 0 when packed
  std::int64_t first_q, first_k;  ///< its first token: 0 when dense, cu_seqlens[b] when packed
  std::int64_t n_q, n_k;          ///< N_q and N_k of this member
  std::int64_t diagonal;          ///< key on the diagonal of its query row 0 (may be negative)
};

/// A problem with the names filled in, densely laid out: start here and change what differs.
/// Layout [B, N, H, d] ("bnhd"), fp32, scale 1/√d, bottom-right, no mask.
flashbook_problem dense_problem(std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                                std::int64_t n_q, std::int64_t n_k, std::int64_t d,
                                std::int64_t d_v);

/// Contiguous strides of a [batch, tokens, heads, channels] tensor.
flashbook_strides bnhd_strides(std::int64_t tokens, std::int64_t heads, std::int64_t channels);
/// Strides of the same tensor laid out [batch, heads, tokens, channels].
flashbook_strides bhnd_strides(std::int64_t tokens, std::int64_t heads, std::int64_t channels);

/// Gives the problem a bias of `shape` (batch, head, query, key: each 1 or full), contiguous.
void set_contiguous_bias(flashbook_problem& problem, const std::array<std::int64_t, 4>& shape);

/// A flashbook_problem whose fields have been checked, with the offsets of packed sequences.
/// docs/contract.md is its specification.
class AttentionProblem {
 public:
  /// Throws InputError naming the first field that breaks the contract.
  /// cu_seqlens_q, cu_seqlens_k: [members + 1] token offsets of a packed problem, else empty.
  explicit AttentionProblem(const flashbook_problem& fields,
                            std::vector<std::int64_t> cu_seqlens_q = {},
                            std::vector<std::int64_t> cu_seqlens_k = {});

  const flashbook_problem& fields() const { return fields_; }
  const flashbook_problem* operator->() const { return &fields_; }
  const std::vector<std::int64_t>& cu_seqlens_q() const { return cu_seqlens_q_; }
  const std::vector<std::int64_t>& cu_seqlens_k() const { return cu_seqlens_k_; }

  DType dtype() const { return static_cast<DType>(fields_.dtype); }
  Alignment alignment() const { return static_cast<Alignment>(fields_.alignment); }
  /// Query heads that share a key/value head.
  std::int64_t group() const { return fields_.heads_q / fields_.heads_kv; }
  std::int64_t kv_head(std::int64_t query_head) const { return query_head / group(); }
  Member member(std::int64_t index) const;
  /// Whether anything but the ends of a sequence can hide a key: causal, or a bounded window.
  bool is_masked() const;

  /// Whether query row i of a member sees its key j (a bias of −∞ may hide the pair further).
  bool visible(const Member& member, std::int64_t i, std::int64_t j) const;

  /// Elements of the tensors that have no strides of their own.
  std::int64_t lse_size() const { return fields_.batch * fields_.heads_q * fields_.n_q; }
  std::int64_t bias_size() const;
  std::int64_t alibi_size() const;
  /// Query tokens of one batch entry that belong to no member: they follow the last one.
  std::int64_t first_slack_q() const { return fields_.packed ? cu_seqlens_q_.back() : fields_.n_q; }
  std::int64_t first_slack_k() const { return fields_.packed ? cu_seqlens_k_.back() : fields_.n_k; }

 private:
  flashbook_problem fields_;
  std::vector<std::int64_t> cu_seqlens_q_, cu_seqlens_k_;
};

}  // namespace flashbook
