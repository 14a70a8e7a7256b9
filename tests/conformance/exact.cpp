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
                     const Cotangents& cotangents, const Member& m, Index query_head) {
  const auto head = load_head<double>(problem, inputs, m, query_head);
  const auto given = load_cotangents<double>(problem, cotangents, m, query_head);
  const auto out = forward<double>(head);
  const auto grad = backward<double>(head, out, given);
  exact = {out.O, out.lse, grad.dQ, grad.dK, grad.dV, grad.dS, grad.dsink};

  group = problem.group();
  scale = head.scale;
  cap = head.softcap;
  has_bias = problem->has_bias || problem->alibi != FLASHBOOK_NO_ALIBI;
  has_dlse = problem->has_dlse;
  sink = head.sink;
  seen = (out.S.array() != minus_infinity<double>).cast<double>();
  const Rows row_sees = m.n_k > 0 ? Rows(seen.rowwise().maxCoeff()) : Rows::Zero(m.n_q);
  const Rows key_seen = m.n_q > 0 ? Rows(seen.colwise().maxCoeff().transpose()) : Rows::Zero(m.n_k);
  Q = head.Q, K = head.K, V = head.V, dO = given.dO, dlse = given.dlse.array();
  clear_rows(Q, row_sees), clear_rows(dO, row_sees);
  clear_rows(K, key_seen), clear_rows(V, key_seen);

  x = visible(scale * (Q * K.transpose()).array());
  c = cap > 0 ? Pairs(cap * (x / cap).tanh()) : x;
  h = cap > 0 ? Pairs(1 - (c / cap).square()) : Pairs::Ones(m.n_q, m.n_k);
  s = visible(out.S.array());
  bias = added = Pairs::Zero(m.n_q, m.n_k);
  if (has_bias) {
    const Pairs alibi = alibi_of(problem, inputs, m, query_head);
    bias = visible(head.bias.array());
    added = visible((head.bias.array() + alibi).abs() + alibi.abs());
  }

  P = out.P.array();
  L = sink ? Rows(out.lse.array()) : Rows((row_sees > 0).select(out.lse.array(), 0.0));
  P_sink = sink ? Rows(out.P_sink.array()) : Rows::Zero(m.n_q);
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
