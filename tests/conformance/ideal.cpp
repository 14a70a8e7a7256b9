#include "tests/conformance/head_terms.hpp"

/// Gate 2's first half: the ideal kernel, exact but for the roundings the contract lets a kernel
/// make.
///
/// A kernel is free in the scale at which it holds a row of P and dS while rounding (a stale
/// maximum, 1/ℓ before or after), and where many P are equal that scale decides their common error.
/// So runs draw it anew: σ depends on the row's LSE alone, hence equal rows round alike, different
/// ones do not.
namespace flashbook::conformance {
namespace {

/// σ_i in (1/2, 1]; 1 in the first two runs.
Rows row_scale(const HeadTerms& t, int n) {
  if (n < 2) return Rows::Ones(t.n_q());
  const double turns = 1000 * n * 0.6180339887498949;
  return (t.L * turns).unaryExpr([](double y) { return std::exp2(std::floor(y) - y); });
}

/// ρ_a(M) = ρ(aM)/a, a one factor a row.
Pairs low(DType dtype, Pairs M, const Rows& a) {
  M.colwise() *= a;
  round_all(dtype, M.data(), M.size());
  M.colwise() /= a;
  return M;
}

Pairs low(DType dtype, Pairs M) {
  round_all(dtype, M.data(), M.size());
  return M;
}

Matrix<double> rounded(DType dtype, Matrix<double> M) {
  round_all(dtype, M.data(), M.size());
  return M;
}

/// 1 / max_j P_ij, the scale of the unnormalised P; 1 for an empty row.
Rows unnormalised(const HeadTerms& t) {
  if (t.n_k() == 0) return Rows::Ones(t.n_q());
  const Rows top = t.P.rowwise().maxCoeff();
  return (top > 0).select(1 / top, 1.0);
}

/// x as standard attention stores it. Odd runs scale Q and K by √scale beforehand, as PyTorch does;
/// runs 2 and 6 store the scaled product, as ours does; 0 and 4 scale the stored product, which
/// 2⁻⁶ keeps from overflowing.
Pairs stored_scores(const HeadTerms& t, DType dtype, int n) {
  const double half = std::sqrt(std::abs(t.scale));
  if (n % 4 == 2) return low(dtype, t.scale * (t.Q * t.K.transpose()).array());
  if (n % 2 == 0) {
    Pairs products = low(dtype, 0x1p-6 * (t.Q * t.K.transpose()).array()) * 0x1p6;
    return low(dtype, products * t.scale);
  }
  const Matrix<double> Q = rounded(dtype, half * t.Q),
                       K = rounded(dtype, (t.scale > 0 ? half : -half) * t.K);
  return low(dtype, (Q * K.transpose()).array());
}

HeadContribution ideal_materialised(const HeadTerms& t, DType dtype, int n) {
  const Rows sigma = row_scale(t, n);
  HeadOutputs<double> scores;
  Pairs s = stored_scores(t, dtype, n), h = Pairs::Ones(t.n_q(), t.n_k());
  if (t.cap > 0) {
    const Pairs tanh = (s / t.cap).tanh();
    h = 1 - tanh.square();
    s = low(dtype, t.cap * tanh);
  }
  if (t.has_bias) s = low(dtype, s + t.bias);
  scores.S = (t.seen > 0).select(s, minus_infinity<double>).matrix();
  softmax<double>(t.sink, scores);

  HeadContribution out;
  const Pairs P = low(dtype, scores.P.array(), sigma);
  const Pairs dP = t.visible(low(dtype, (t.dO * t.V.transpose()).array()));
  out.O = t.over_keys(P, t.V);
  const Pairs PdP = n % 2 ? low(dtype, P * dP) : P * dP;
  const Rows D = PdP.rowwise().sum() - t.dlse;
  const Pairs dS = low(dtype, PdP - P.colwise() * D, sigma);
  const Pairs dX = low(dtype, (t.cap > 0 ? low(dtype, dS * h) : dS) * t.scale);
  out.dV = t.over_queries(P, t.dO);
  out.dQ = t.over_keys(dX, t.K);
  out.dK = t.over_queries(dX, t.Q);
  out.dS = dS.matrix();
  return out;
}

}  // namespace

HeadContribution ideal(const HeadTerms& t, const Arithmetic& a, int n) {
  if (a.materialised) return ideal_materialised(t, a.dtype, n);
  const Rows sigma = row_scale(t, n);
  HeadContribution out;
  out.O = rounded(a.dtype, t.over_keys(low(a.dtype, t.P, n == 0 ? unnormalised(t) : sigma), t.V));
  const Rows D = t.dO.cwiseProduct(out.O).rowwise().sum().array() - t.dlse;
  const Pairs P = low(a.dtype, t.P, sigma);
  const Pairs dS = t.visible((n % 2 ? P : t.P) * (t.dP.colwise() - D));
  const Pairs dX = low(a.dtype, dS * t.h, sigma);
  out.dV = t.over_queries(P, t.dO);
  out.dQ = t.scale * t.over_keys(dX, t.K);
  out.dK = t.scale * t.over_queries(dX, t.Q);
  out.dS = low(a.dtype, dS, sigma).matrix();
  return out;
}

}  // namespace flashbook::conformance
