#include "cpu_reference/standard.hpp"
#include "tests/conformance/head_terms.hpp"

namespace flashbook::conformance {
namespace {

/// |slope|·|distance to the diagonal|, [N_q, N_k]; 0 without ALiBi.
Pairs alibi_of(const AttentionProblem& problem, const Inputs& inputs, const Member& m, Index head) {
  Pairs alibi = Pairs::Zero(m.n_q, m.n_k);
  if (problem->alibi == FLASHBOOK_NO_ALIBI) return alibi;
  const Index row = problem->alibi == FLASHBOOK_ALIBI_BH ? m.index : 0;
  const double slope = with_element_type(problem.dtype(), [&](auto element) {
    const auto* slopes = static_cast<const decltype(element)*>(inputs.alibi);
    return static_cast<double>(slopes[row * problem->heads_q + head]);
  });
  for (Index i = 0; i < m.n_q; ++i)
    for (Index j = 0; j < m.n_k; ++j)
      alibi(i, j) = slope * static_cast<double>(std::abs(i + m.diagonal - j));
  return alibi;
}

void clear_rows(Matrix<double>& M, const Rows& keep) {
  for (Index i = 0; i < M.rows(); ++i)
    if (keep(i) == 0) M.row(i).setZero();
}

}  // namespace

HeadTerms::HeadTerms(const AttentionProblem& problem, const Inputs& inputs,
                     const Cotangents& cotangents, const Member& m, Index query_head)
    : group(problem.group()), has_dlse(problem->has_dlse) {
  const auto head = load_head<double>(problem, inputs, m, query_head);
  const auto given = load_cotangents<double>(problem, cotangents, m, query_head);
  const auto out = forward<double>(head);
  const auto grad = backward<double>(head, out, given);
  exact = {out.O, out.lse, grad.dQ, grad.dK, grad.dV, grad.dS, grad.dsink};
  seen = (out.S.array() != minus_infinity<double>).cast<double>();
  has_bias = problem->has_bias || problem->alibi != FLASHBOOK_NO_ALIBI;
  bias = added = Pairs::Zero(m.n_q, m.n_k);
  if (has_bias) {
    const Pairs alibi = alibi_of(problem, inputs, m, query_head);
    bias = visible(head.bias.array());
    added = visible((head.bias.array() + alibi).abs() + alibi.abs());
  }
  set_inputs(head, given);
  set_forward(out);
  set_backward(grad);
}

void HeadTerms::set_inputs(const Head<double>& head, const HeadCotangents<double>& given) {
  scale = head.scale;
  cap = head.softcap;
  sink = head.sink;
  Q = head.Q, K = head.K, V = head.V, dO = given.dO, dlse = given.dlse.array();
  const Rows keys = K.rows() > 0 ? Rows(seen.rowwise().sum()) : Rows::Zero(Q.rows());
  const Rows queries = Q.rows() > 0 ? Rows(seen.colwise().sum().transpose()) : Rows::Zero(K.rows());
  clear_rows(Q, keys), clear_rows(dO, keys);
  clear_rows(K, queries), clear_rows(V, queries);
}

void HeadTerms::set_forward(const HeadOutputs<double>& out) {
  x = visible(scale * (Q * K.transpose()).array());
  c = cap > 0 ? Pairs(cap * (x / cap).tanh()) : x;
  h = cap > 0 ? Pairs(1 - (c / cap).square()) : Pairs::Ones(n_q(), n_k());
  s = visible(out.S.array());
  P = out.P.array();
  const Rows lse = out.lse.array();
  L = sink ? lse : Rows((lse == minus_infinity<double>).select(0.0, lse));
  P_sink = sink ? Rows(out.P_sink.array()) : Rows::Zero(n_q());
}

void HeadTerms::set_backward(const HeadGradients<double>& grad) {
  dP = visible((dO * V.transpose()).array());
  dS = grad.dS.array();
  dX = dS * h;
  delta = (P * dP).rowwise().sum();
  D = delta - dlse;
}

Matrix<double> HeadTerms::over_keys(const Pairs& W, const Matrix<double>& X) const {
  return product_over_seen(W.matrix(), X, [this](Index i, Index j) { return seen(i, j) > 0; });
}

Matrix<double> HeadTerms::over_queries(const Pairs& W, const Matrix<double>& X) const {
  return product_over_seen(W.matrix().transpose(), X,
                           [this](Index j, Index i) { return seen(i, j) > 0; });
}

void round_all(DType dtype, double* values, Index count) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    for (Index i = 0; i < count; ++i) values[i] = static_cast<double>(round_to<T>(values[i]));
  });
}

}  // namespace flashbook::conformance
