#include "sim/io/tensors.hpp"

namespace flashbook::io {
namespace {

std::array<Index, 4> strides_of(const flashbook_strides& s) {
  return {s.batch, s.head, s.token, 1};
}

/// Q, O and their gradients; K, V and theirs.
Layout query_layout(const AttentionProblem& p, const flashbook_strides& s, Index channels) {
  return {Kind::matrix, p.dtype(), {p->batch, p->heads_q, p->n_q, channels}, strides_of(s)};
}
Layout key_layout(const AttentionProblem& p, const flashbook_strides& s, Index channels) {
  return {Kind::matrix, p.dtype(), {p->batch, p->heads_kv, p->n_k, channels}, strides_of(s)};
}

/// LSE and its gradient: [B, H_q, N_q], always fp32 here.
Layout row_vector_layout(const AttentionProblem& problem) {
  return {Kind::vector,
          DType::fp32,
          {problem->batch, problem->heads_q, problem->n_q, 1},
          {problem->heads_q * problem->n_q, problem->n_q, 1, 1}};
}

/// Slopes, and sinks and their gradients: [members or 1, H_q].
Layout head_vector_layout(const AttentionProblem& problem, bool per_member) {
  return {Kind::vector,
          problem.dtype(),
          {per_member ? problem->members : Layout::endless, problem->heads_q, 1, 1},
          {per_member ? problem->heads_q : 0, 1, 1, 1}};
}

/// An axis along which the bias is broadcast has one element, whatever the index.
Layout bias_layout(const AttentionProblem& problem) {
  Layout layout = {Kind::matrix, problem.dtype(), {}, {}};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const bool broadcast = problem->bias_shape[axis] == 1;
    layout.shape[axis] = broadcast ? Layout::endless : problem->bias_shape[axis];
    layout.strides[axis] = broadcast ? 0 : problem->bias_strides[axis];
  }
  return layout;
}

/// The bias's own shape, contiguous.
Layout grad_bias_layout(const AttentionProblem& problem) {
  const auto& s = problem->bias_shape;
  return {Kind::matrix,
          problem.dtype(),
          {s[0], s[1], s[2], s[3]},
          {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}};
}

/// What both passes read.
Tensors bind_inputs(Hbm& hbm, const AttentionProblem& problem, const Inputs& in) {
  Tensors t;
  t.q = hbm.add_input("Q", query_layout(problem, problem->q, problem->d), in.q);
  t.k = hbm.add_input("K", key_layout(problem, problem->k, problem->d), in.k);
  t.v = hbm.add_input("V", key_layout(problem, problem->v, problem->d_v), in.v);
  if (problem->has_bias) t.bias = hbm.add_input("bias", bias_layout(problem), in.bias);
  if (problem->alibi != FLASHBOOK_NO_ALIBI) {
    const bool per_member = problem->alibi == FLASHBOOK_ALIBI_BH;
    t.alibi = hbm.add_input("alibi", head_vector_layout(problem, per_member), in.alibi);
  }
  if (problem->has_sinks)
    t.sinks = hbm.add_input("sinks", head_vector_layout(problem, false), in.sinks);
  return t;
}

/// Tokens [first, first + n) in tiles.
void cut(std::vector<BiasAxisTile>& tiles, Index first, Index n, Index block, Index member) {
  for (Index i = 0; i * block < n; ++i) {
    const Range tile = tile_of(i, block, n);
    tiles.push_back({{first + tile.first, first + tile.last}, member, false});
  }
}

/// The query axis of the bias (or its key axis) in tiles that stay within a member.
std::vector<BiasAxisTile> bias_axis_tiles(const AttentionProblem& problem, bool queries,
                                          Index block) {
  const Index tokens = queries ? problem->n_q : problem->n_k;
  std::vector<BiasAxisTile> tiles;
  if (problem->bias_shape[queries ? 2 : 3] == 1) {
    tiles.push_back({{0, 1}, BiasAxisTile::every_member, true});
  } else if (!problem->packed) {
    cut(tiles, 0, tokens, block, BiasAxisTile::every_member);
  } else {
    for (Index b = 0; b < problem->members; ++b) {
      const Member m = problem.member(b);
      cut(tiles, queries ? m.first_q : m.first_k, queries ? m.n_q : m.n_k, block, b);
    }
    const Index slack = queries ? problem.first_slack_q() : problem.first_slack_k();
    cut(tiles, slack, tokens - slack, block, BiasAxisTile::no_member);
  }
  return tiles;
}

/// The batch or head axis: one entry each, or all at once where the bias is broadcast.
std::vector<Range> bias_outer_axis(Index stored, Index full) {
  if (stored == 1) return {{0, full}};
  std::vector<Range> entries;
  for (Index i = 0; i < stored; ++i) entries.push_back({i, i + 1});
  return entries;
}

}  // namespace

Tensors bind_forward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors) {
  Tensors t = bind_inputs(hbm, problem, tensors.inputs);
  t.o = hbm.add_output("O", query_layout(problem, problem->o, problem->d_v), tensors.outputs.o);
  t.lse = hbm.add_output("LSE", row_vector_layout(problem), tensors.outputs.lse);
  return t;
}

Tensors bind_backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors) {
  Tensors t = bind_inputs(hbm, problem, tensors.inputs);
  const auto& [d_o, d_lse] = tensors.cotangents;
  const Gradients& grad = tensors.gradients;
  t.o = hbm.add_input("O", query_layout(problem, problem->o, problem->d_v), tensors.outputs.o);
  t.lse = hbm.add_input("LSE", row_vector_layout(problem), tensors.outputs.lse);
  t.grad_o = hbm.add_input("dO", query_layout(problem, problem->grad_o, problem->d_v), d_o);
  if (problem->has_dlse) t.grad_lse = hbm.add_input("dLSE", row_vector_layout(problem), d_lse);
  t.grad_q = hbm.add_output("dQ", query_layout(problem, problem->grad_q, problem->d), grad.q);
  t.grad_k = hbm.add_output("dK", key_layout(problem, problem->grad_k, problem->d), grad.k);
  t.grad_v = hbm.add_output("dV", key_layout(problem, problem->grad_v, problem->d_v), grad.v);
  if (problem->has_bias)
    t.grad_bias = hbm.add_output("dbias", grad_bias_layout(problem), grad.bias);
  t.grad_sinks = hbm.add_output("dsinks", head_vector_layout(problem, false), grad.sinks);
  return t;
}

Tensor add_row_workspace(Hbm& hbm, const AttentionProblem& problem, const char* name, Kind kind,
                         Index channels, Index parts) {
  return hbm.add_workspace(name, kind, DType::fp32,
                           {parts * problem->batch, problem->heads_q, problem->n_q, channels});
}

std::vector<QueryTile> query_tiles(const AttentionProblem& problem, Index block) {
  std::vector<QueryTile> tiles;
  for (Index b = 0; b < problem->members; ++b) {
    const Member member = problem.member(b);
    for (Index head = 0; head < problem->heads_q; ++head)
      for (Index i = 0; i * block < member.n_q; ++i)
        tiles.push_back({member, head, tile_of(i, block, member.n_q)});
  }
  return tiles;
}

std::vector<KeyTile> key_tiles(const AttentionProblem& problem, Index block) {
  std::vector<KeyTile> tiles;
  for (Index b = 0; b < problem->members; ++b) {
    const Member member = problem.member(b);
    for (Index kv_head = 0; kv_head < problem->heads_kv; ++kv_head)
      for (Index j = 0; j * block < member.n_k; ++j)
        tiles.push_back({member, kv_head, tile_of(j, block, member.n_k)});
  }
  return tiles;
}

std::vector<HeadOf> heads_of(const AttentionProblem& problem, Index heads) {
  std::vector<HeadOf> all;
  for (Index b = 0; b < problem->members; ++b)
    for (Index h = 0; h < heads; ++h) all.push_back({problem.member(b), h});
  return all;
}

std::vector<BiasTile> bias_tiles(const AttentionProblem& problem, const Blocks& blocks) {
  const auto queries = bias_axis_tiles(problem, true, blocks.rows);
  const auto keys = bias_axis_tiles(problem, false, blocks.columns);
  std::vector<BiasTile> tiles;
  for (const Range& batches : bias_outer_axis(problem->bias_shape[0], problem->batch))
    for (const Range& heads : bias_outer_axis(problem->bias_shape[1], problem->heads_q))
      for (const BiasAxisTile& q : queries)
        for (const BiasAxisTile& k : keys) tiles.push_back({batches, heads, q, k});
  return tiles;
}

}  // namespace flashbook::io
