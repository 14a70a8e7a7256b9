#include "tests/conformance/fuzz/draft.hpp"

namespace flashbook::conformance {
namespace {

struct Axes {
  Index batch, tokens, heads, channels;
};

/// A stride that an axis of size 1 may have, and no other.
Index odd_if_unit(Index size, Index stride) {
  return size == 1 ? -7 : stride;
}

flashbook_strides strides_of(Placement placement, const Axes& n) {
  flashbook_strides s = bnhd_strides(n.tokens, n.heads, n.channels);
  switch (placement) {
    case Placement::bnhd:
      break;
    case Placement::bhnd:
      return bhnd_strides(n.tokens, n.heads, n.channels);
    case Placement::padded:
      s.head += 3;
      s.token = n.heads * s.head + 1;
      s.batch = n.tokens * s.token + 5;
      break;
    case Placement::backwards:
      s.token = -s.token;
      break;
    case Placement::odd_unit_axes:
      return {odd_if_unit(n.batch, s.batch), odd_if_unit(n.tokens, s.token),
              odd_if_unit(n.heads, s.head)};
    case Placement::one_head:
      s.head = 0;
      break;
    case Placement::one_token:
      s.token = 0;
      break;
  }
  return s;
}

void set_strides(flashbook_problem& p, const Draft& draft) {
  const Axes queries = {p.batch, p.n_q, p.heads_q, p.d}, of_O = {p.batch, p.n_q, p.heads_q, p.d_v};
  const Axes keys = {p.batch, p.n_k, p.heads_kv, p.d}, of_V = {p.batch, p.n_k, p.heads_kv, p.d_v};
  const auto set = [&](flashbook_strides& strides, Strided tensor, const Axes& n) {
    strides = strides_of(draft.placements[static_cast<std::size_t>(tensor)], n);
  };
  set(p.q, Strided::Q, queries);
  set(p.k, Strided::K, keys);
  set(p.v, Strided::V, of_V);
  set(p.grad_o, Strided::dO, of_O);
  set(p.o, Strided::O, of_O);
  set(p.grad_q, Strided::dQ, queries);
  set(p.grad_k, Strided::dK, keys);
  set(p.grad_v, Strided::dV, of_V);
}

void set_bias(flashbook_problem& p, const Draft& draft) {
  if (!draft.bias) return;
  const std::array<Index, 4> full = {p.batch, p.heads_q, p.n_q, p.n_k};
  std::array<Index, 4> shape;
  for (std::size_t axis = 0; axis < 4; ++axis) shape[axis] = (*draft.bias)[axis] ? full[axis] : 1;
  set_contiguous_bias(p, shape);
  Index* s = p.bias_strides;
  switch (draft.bias_placement) {
    case BiasPlacement::row_major:
      break;
    case BiasPlacement::key_major:
      std::swap(s[2], s[3]);
      s[3] = shape[2];
      break;
    case BiasPlacement::padded:
      s[3] = 2, s[2] = 2 * shape[3] + 1, s[1] = s[2] * shape[2] + 3, s[0] = s[1] * shape[1];
      break;
    case BiasPlacement::one_matrix:
      s[0] = s[1] = 0;
      break;
  }
}

/// Token offsets of the members: 0, then where each ends.
std::vector<Index> offsets_of(const std::vector<Lengths>& members, Index Lengths::*axis) {
  std::vector<Index> offsets = {0};
  for (const Lengths& member : members) offsets.push_back(offsets.back() + member.*axis);
  return offsets;
}

}  // namespace

ProblemSpec spec_of(const Draft& draft) {
  std::vector<Index> cu_q, cu_k;
  if (draft.members) {
    cu_q = offsets_of(*draft.members, &Lengths::n_q);
    cu_k = offsets_of(*draft.members, &Lengths::n_k);
  }
  const Index in_members_q = cu_q.empty() ? 0 : cu_q.back();
  const Index in_members_k = cu_k.empty() ? 0 : cu_k.back();
  flashbook_problem p = dense_problem(draft.batch, draft.heads_kv * draft.group, draft.heads_kv,
                                      in_members_q + draft.tokens.n_q,
                                      in_members_k + draft.tokens.n_k, draft.d, draft.d_v);
  p.dtype = static_cast<std::int32_t>(draft.dtype);
  p.alignment = static_cast<std::int32_t>(draft.alignment);
  p.causal = draft.causal;
  p.window_left = draft.window_left;
  p.window_right = draft.window_right;
  if (draft.scale) p.scale = *draft.scale;
  p.softcap = draft.softcap;
  p.alibi = draft.alibi;
  p.has_sinks = draft.sinks;
  p.has_dlse = draft.dlse;
  p.packed = draft.members.has_value();
  if (draft.members) p.members = static_cast<Index>(draft.members->size());
  set_strides(p, draft);
  set_bias(p, draft);
  return {AttentionProblem(p, std::move(cu_q), std::move(cu_k)), draft.recipe};
}

}  // namespace flashbook::conformance
