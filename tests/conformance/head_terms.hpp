#pragma once

#include "cpu_reference/head.hpp"
#include "cpu_reference/implementation.hpp"
#include "tests/conformance/expectation.hpp"
#include "tests/conformance/outputs.hpp"

/// One query head of one member, exactly: every quantity the formulas of the gates speak of.
namespace flashbook::conformance {

using Pairs = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // [N_q, N_k]
using Rows = Eigen::Array<double, Eigen::Dynamic, 1>;                                 // [N_q]

/// Names as in the paper and in docs/gates.md. Hidden pairs hold 0, empty rows have L = 0, and
/// queries and keys that no pair needs are 0, whatever memory holds there.
struct HeadTerms {
  HeadTerms(const AttentionProblem& problem, const Inputs& inputs, const Cotangents& cotangents,
            const Member& member, Index query_head);

  Index group;                 ///< G: query heads that share the kv head
  double scale, cap;           ///< cap 0: none
  bool has_bias, has_dlse;     ///< has_bias: bias or ALiBi
  std::optional<double> sink;  ///< z
  Matrix<double> Q, K, V, dO;
  Rows dlse;
  Pairs seen;         ///< 1 or 0
  Pairs x, c, h, s;   ///< scaled, capped (slope h), biased scores
  Pairs bias, added;  ///< bias + ALiBi; |bias| + |ALiBi|
  Pairs P, dP, dS, dX;
  Rows L, P_sink, delta, D;
  HeadContribution exact;  ///< O, LSE (−∞ for an empty row), dQ, dK, dV, dS, dsink

  Index n_q() const { return Q.rows(); }
  Index n_k() const { return K.rows(); }
  Index d() const { return Q.cols(); }
  Index d_v() const { return V.cols(); }

  /// M with hidden pairs put to 0.
  Pairs visible(const Pairs& M) const { return (seen > 0).select(M, 0.0); }
  /// Σ_j W_ij X_j and Σ_i W_ij X_i over the pairs that see each other.
  Matrix<double> over_keys(const Pairs& W, const Matrix<double>& X) const;
  Matrix<double> over_queries(const Pairs& W, const Matrix<double>& X) const;

 private:
  void set_inputs(const Head<double>& head, const HeadCotangents<double>& given);
  void set_forward(const HeadOutputs<double>& out);
  void set_backward(const HeadGradients<double>& grad);
};

/// Gate 1's tolerances, but for what is added once to each element of a sum over heads: the
/// rounding of dK, dV, dBias and dSinks.
HeadContribution tolerance(const HeadTerms& t, const Arithmetic& a, double bias_repeats);

/// Run n of the ideal kernel: the contract's roundings, and no other. Sums over heads are not yet
/// rounded.
HeadContribution ideal(const HeadTerms& t, const Arithmetic& a, int n);

/// F², the variance of what accumulating in fp32 adds, but for what the rows of dK and dV share.
HeadContribution noise(const HeadTerms& t, const Arithmetic& a);
/// λ: variance of LSE, the relative error all keys of a row share.
Rows noise_of_lse(const HeadTerms& t, const Arithmetic& a);
/// s_n: relative variance of a sum of n terms.
double noise_of_sum(double n, const Arithmetic& a);

/// Rounds every element to the dtype.
void round_all(DType dtype, double* values, Index count);

}  // namespace flashbook::conformance
