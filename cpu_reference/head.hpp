#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "cpu_reference/element_types.hpp"
#include "cpu_reference/tensor_view.hpp"

/// Attention of one query head of one sequence, equation by equation, in the paper's notation.
///
/// Every function is a template over Real, the type it computes in, and Stored, the type the
/// N_q x N_k matrices are kept in: <double, double> is the oracle, <float, half> what a GPU that
/// writes its intermediates to memory in 16 bits computes. On a first reading take `store_as` for
/// nothing, and `product_over_seen` for a product.
///
/// A hidden pair is one whose score is −∞, whatever made it so: mask, bias or arithmetic.
namespace flashbook {

/// What one head is given.
template <class Real>
struct Head {
  Matrix<Real> Q, K, V;  ///< [N_q, d], [N_k, d], [N_k, d_v]
  Real scale;            ///< of q·k
  Real softcap;          ///< 0: none
  Matrix<Real> bias;     ///< bias and ALiBi, −∞ where masked, [N_q, N_k]; empty: nothing added
  std::optional<Real> sink;  ///< logit of the sink
};

/// What the loss is given: dO [N_q, d_v] and dLSE [N_q] (zeros if there is none).
template <class Real>
struct HeadCotangents {
  Matrix<Real> dO;
  Vector<Real> dlse;
};

template <class Real>
struct HeadOutputs {
  Matrix<Real> S;       ///< scores, −∞ where hidden, [N_q, N_k]
  Matrix<Real> H;       ///< slope of the soft-cap, 1 − tanh²; empty without one
  Matrix<Real> P;       ///< softmax(S), 0 where hidden, [N_q, N_k]
  Matrix<Real> O;       ///< [N_q, d_v]
  Vector<Real> lse;     ///< [N_q], −∞ for an empty row
  Vector<Real> P_sink;  ///< weight of the sink, [N_q]; empty without one
};

template <class Real>
struct HeadGradients {
  Matrix<Real> dS;          ///< of the scores, hence of the bias, [N_q, N_k]
  Matrix<Real> dQ, dK, dV;  ///< as Q, K, V
  Real dsink;               ///< 0 without a sink
};

template <class Real>
inline constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

/// Rounds every element to Stored, as writing the matrix to memory would.
template <class Stored, class Real>
void store_as(Matrix<Real>& M) {
  if constexpr (!std::is_same_v<Stored, Real>)
    M = M.unaryExpr([](Real x) { return static_cast<Real>(round_to<Stored>(x)); });
}

/// Σ_j W_ij X_j over the pairs for which seen(i, j). Unseen weights are 0, but 0·NaN is NaN: rows
/// of X that hold NaN or Inf stay out of the product and are added pair by pair.
template <class Real, class Weights, class Seen>
Matrix<Real> product_over_seen(const Eigen::MatrixBase<Weights>& W, const Matrix<Real>& X,
                               const Seen& seen) {
  if (X.allFinite()) return W * X;
  Matrix<Real> finite = X;
  for (Index j = 0; j < X.rows(); ++j)
    if (!X.row(j).allFinite()) finite.row(j).setZero();
  Matrix<Real> sum = W * finite;
  for (Index j = 0; j < X.rows(); ++j) {
    if (X.row(j).allFinite()) continue;
    for (Index i = 0; i < W.rows(); ++i)
      if (seen(i, j)) sum.row(i) += W(i, j) * X.row(j);
  }
  return sum;
}

/// x = scale · QKᵀ;  c = cap · tanh(x / cap);  S = c + bias.
template <class Stored, class Real>
void score(const Head<Real>& head, HeadOutputs<Real>& out) {
  out.S.noalias() = head.Q * head.K.transpose();
  out.S *= head.scale;
  store_as<Stored>(out.S);
  if (head.softcap > 0) {
    const Real cap = head.softcap;
    out.S = out.S.unaryExpr([cap](Real x) { return std::tanh(x / cap); });
    out.H = (1 - out.S.array().square()).matrix();
    out.S *= cap;
    store_as<Stored>(out.S);
  }
  if (head.bias.size() > 0) {
    // −∞ hides: it is selected, not added, so that it also hides a NaN.
    out.S = out.S.binaryExpr(head.bias,
                             [](Real c, Real b) { return b == minus_infinity<Real> ? b : c + b; });
    store_as<Stored>(out.S);
  }
}

/// P = softmax(S) and LSE = ln Σ e^S row by row, the sink (if any) one more key of weight P_sink.
template <class Stored, class Real>
void softmax(const std::optional<Real>& sink, HeadOutputs<Real>& out) {
  const Index n_q = out.S.rows(), n_k = out.S.cols();
  out.P.setZero(n_q, n_k);
  out.lse.resize(n_q);
  out.P_sink.resize(sink ? n_q : 0);
  for (Index i = 0; i < n_q; ++i) {
    auto S = out.S.row(i).array();
    Real m = n_k > 0 ? S.template maxCoeff<Eigen::PropagateNaN>() : minus_infinity<Real>;
    if (sink && !(*sink <= m)) m = *sink;  // also where m is NaN, which l brings back
    if (m == minus_infinity<Real>) {
      out.lse(i) = m;  // an empty row
      if (sink) out.P_sink(i) = 0;
      continue;
    }
    auto P = out.P.row(i).array();
    P = (S == minus_infinity<Real>).select(Real{0}, (S - m).exp());
    const Real sink_weight = sink ? std::exp(*sink - m) : Real{0};
    const Real l = P.sum() + sink_weight;
    P = (S == minus_infinity<Real>).select(Real{0}, P / l);
    out.lse(i) = m + std::log(l);
    if (sink) out.P_sink(i) = sink_weight / l;
  }
  store_as<Stored>(out.P);
}

/// O = softmax(S) V.
template <class Stored, class Real>
HeadOutputs<Real> forward(const Head<Real>& head) {
  HeadOutputs<Real> out;
  score<Stored>(head, out);
  softmax<Stored>(head.sink, out);
  out.O = product_over_seen(out.P, head.V,
                            [&](Index i, Index j) { return out.S(i, j) != minus_infinity<Real>; });
  return out;
}

/// dP = dO Vᵀ;  D_i = Σ_j P_ij dP_ij − dLSE_i;  dS = P ∘ (dP − D);  dX = dS ∘ H;
/// dQ = scale · dX K;  dK = scale · dXᵀ Q;  dV = Pᵀ dO;  dsink = −Σ_i P_sink,i D_i.
/// Papers write D_i = Σ_c dO_ic O_ic: the same, since O = PV.
template <class Stored, class Real>
HeadGradients<Real> backward(const Head<Real>& head, const HeadOutputs<Real>& out,
                             const HeadCotangents<Real>& cotangents) {
  HeadGradients<Real> grad;
  const auto seen = [&](Index i, Index j) { return out.S(i, j) != minus_infinity<Real>; };
  const auto seen_by = [&](Index j, Index i) { return seen(i, j); };
  grad.dV = product_over_seen(out.P.transpose(), cotangents.dO, seen_by);

  Matrix<Real>& dS = grad.dS;
  dS.noalias() = cotangents.dO * head.V.transpose();  // dP
  store_as<Stored>(dS);
  const auto hidden = (out.S.array() == minus_infinity<Real>);
  dS = hidden.select(Real{0}, dS.array()).matrix();
  const Vector<Real> D = out.P.cwiseProduct(dS).rowwise().sum() - cotangents.dlse;
  dS = hidden.select(Real{0}, out.P.array() * (dS.colwise() - D).array()).matrix();
  store_as<Stored>(dS);

  Matrix<Real> dX = dS;
  if (out.H.size() > 0) {  // selected again: H of a hidden pair may be NaN
    dX = hidden.select(Real{0}, dS.array() * out.H.array()).matrix();
    store_as<Stored>(dX);
  }
  dX *= head.scale;
  store_as<Stored>(dX);
  grad.dQ = product_over_seen(dX, head.K, seen);
  grad.dK = product_over_seen(dX.transpose(), head.Q, seen_by);
  grad.dsink = head.sink ? -out.P_sink.dot(D) : Real{0};
  return grad;
}

}  // namespace flashbook
