#include "sim/io/tensors.hpp"

namespace flashbook::io {
namespace {

Layout matrix_layout(const AttentionProblem& problem, const flashbook_strides& s) {
  return {Kind::matrix, problem.dtype(), {s.batch, s.head, s.token, 1}};
}

/// LSE and its gradient: [B, H_q, N_q], always fp32 here.
Layout row_vector_layout(const AttentionProblem& problem) {
  return {Kind::vector, DType::fp32, {problem->heads_q * problem->n_q, problem->n_q, 1, 1}};
}

Layout head_vector_layout(const AttentionProblem& problem, Index batch_stride) {
  return {Kind::vector, problem.dtype(), {batch_stride, 1, 1, 1}};
}

Layout bias_layout(const AttentionProblem& problem, const std::array<Index, 4>& strides) {
  Layout layout = {Kind::matrix, problem.dtype(), strides};
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (problem->bias_shape[axis] == 1) layout.strides[axis] = 0;
  return layout;
}

/// What both passes read.
Tensors bind_inputs(Hbm& hbm, const AttentionProblem& problem, const Inputs& in) {
  Tensors t;
  t.q = hbm.add_input("Q", matrix_layout(problem, problem->q), in.q);
  t.k = hbm.add_input("K", matrix_layout(problem, problem->k), in.k);
  t.v = hbm.add_input("V", matrix_layout(problem, problem->v), in.v);
  if (problem->has_bias) {
    const auto& s = problem->bias_strides;
    t.bias = hbm.add_input("bias", bias_layout(problem, {s[0], s[1], s[2], s[3]}), in.bias);
  }
  if (problem->alibi != FLASHBOOK_NO_ALIBI) {
    const Index member_stride = problem->alibi == FLASHBOOK_ALIBI_BH ? problem->heads_q : 0;
    t.alibi = hbm.add_input("alibi", head_vector_layout(problem, member_stride), in.alibi);
  }
  if (problem->has_sinks)
    t.sinks = hbm.add_input("sinks", head_vector_layout(problem, 0), in.sinks);
  return t;
}

std::array<Index, 4> contiguous_strides(const std::int64_t (&shape)[4]) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
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
  t.o = hbm.add_output("O", matrix_layout(problem, problem->o), tensors.outputs.o);
  t.lse = hbm.add_output("LSE", row_vector_layout(problem), tensors.outputs.lse);
  return t;
}

Tensors bind_backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors) {
  Tensors t = bind_inputs(hbm, problem, tensors.inputs);
  const auto& [d_o, d_lse] = tensors.cotangents;
  const Gradients& grad = tensors.gradients;
  t.o = hbm.add_input("O", matrix_layout(problem, problem->o), tensors.outputs.o);
  t.lse = hbm.add_input("LSE", row_vector_layout(problem), tensors.outputs.lse);
  t.grad_o = hbm.add_input("dO", matrix_layout(problem, problem->grad_o), d_o);
  if (problem->has_dlse) t.grad_lse = hbm.add_input("dLSE", row_vector_layout(problem), d_lse);
  t.grad_q = hbm.add_output("dQ", matrix_layout(problem, problem->grad_q), grad.q);
  t.grad_k = hbm.add_output("dK", matrix_layout(problem, problem->grad_k), grad.k);
  t.grad_v = hbm.add_output("dV", matrix_layout(problem, problem->grad_v), grad.v);
  if (problem->has_bias)
    t.grad_bias = hbm.add_output(
        "dbias", bias_layout(problem, contiguous_strides(problem->bias_shape)), grad.bias);
  if (problem->has_sinks)
    t.grad_sinks = hbm.add_output("dsinks", head_vector_layout(problem, 0), grad.sinks);
  return t;
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
