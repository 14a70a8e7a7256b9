#include <algorithm>
#include <cmath>

#include "tests/conformance/head_terms.hpp"

/// Gate 1: what no correct kernel exceeds, whatever its order of summation.
namespace flashbook::conformance {
namespace {

constexpr double overflowing = 700;  // e^700 is near the largest double

/// e_c, absolute error of the capped score.
Pairs error_of_capped(const HeadTerms& t, const Arithmetic& a) {
  const Pairs products = (t.Q.cwiseAbs() * t.K.cwiseAbs().transpose()).array();
  const double gamma_d = a.gamma(static_cast<double>(t.d()));
  Pairs e_x = std::abs(t.scale) * (gamma_d + 2 * a.w()) * products +
              (4 * a.upsilon + 2 * a.w()) * t.x.abs();
  if (t.cap == 0) return e_x;
  e_x = t.x.isInf().select(0.0, e_x);  // infinite in any arithmetic, and ±cap exactly
  return (t.h + e_x / t.cap).min(1.0) * e_x + (a.eps_tanh + 4 * a.upsilon + a.w()) * t.c.abs();
}

/// ε, error of ln P before LSE's share is added: P is off by a factor of at most e^ε.
Pairs error_of_log_P(const HeadTerms& t, const Arithmetic& a, const Pairs& e_c) {
  Pairs epsilon = e_c + 8 * a.upsilon * (2 + (t.s.colwise() - t.L).abs()) + a.eps_exp;
  epsilon.colwise() += 4 * a.upsilon * t.L.abs();
  if (t.has_bias) epsilon += 4 * a.upsilon * t.added + a.w() * t.s.abs();
  return t.visible(epsilon);
}

/// e_z, relative error of the sink's weight.
Rows error_of_sink(const HeadTerms& t, const Arithmetic& a) {
  if (!t.sink) return Rows::Zero(t.n_q());
  const double z = *t.sink;
  return 4 * a.upsilon * (std::abs(z) + t.L.abs()) + 8 * a.upsilon * (2 + (z - t.L).abs()) +
         a.eps_exp + a.w() * std::abs(z);
}

/// What the errors of the scores do to the softmax.
struct SoftmaxErrors {
  Rows lse;       ///< λ, tolerance of LSE
  Rows sink;      ///< relative error of the sink's weight
  Pairs e;        ///< ē, relative error of P before it is rounded
  Pairs forward;  ///< absolute error of the forward pass's P before it is rounded
};

/// e^y − 1: what a factor of at most e^y is off by.
double expm1_capped(double y) {
  return std::expm1(std::min(y, overflowing));
}

/// The forward pass divides by the sum of the very weights it adds up, so its P stays within 0 and
/// 1, and is 1 where a row has one key and no sink. The backward's e^(S − LSE) may leave [0, 1].
Pairs error_of_forward_P(const HeadTerms& t, const Pairs& epsilon, const SoftmaxErrors& errors) {
  const Pairs of_log = epsilon.colwise() + errors.lse;
  const Pairs log_P = (t.s.colwise() - t.L + of_log).min(0.0);
  const Pairs error = (of_log > overflowing).select(log_P.exp(), t.P * errors.e).min(1.0);
  if (t.sink) return t.visible(error);
  const Rows keys = t.seen.rowwise().sum();
  return t.visible((keys == 1).replicate(1, t.n_k()).select(0.0, error));
}

SoftmaxErrors errors_of_softmax(const HeadTerms& t, const Arithmetic& a, const Pairs& e_c) {
  const double n_k = static_cast<double>(t.n_k());
  const Pairs epsilon = error_of_log_P(t, a, e_c);
  const Rows e_z = error_of_sink(t, a);
  const Rows sum = (t.P * epsilon.unaryExpr(&expm1_capped)).rowwise().sum() +
                   t.P_sink * e_z.unaryExpr(&expm1_capped);
  // LSE is off by no more than the worst of its scores.
  const Rows worst = t.n_k() > 0 ? Rows(epsilon.rowwise().maxCoeff()) : Rows::Zero(t.n_q());
  const Rows rounding = a.gamma(n_k) + 8 * a.upsilon * (1 + t.L.abs() + std::log(n_k + 1));
  SoftmaxErrors errors;
  errors.lse = sum.min(worst.max(e_z)) + rounding;
  errors.sink = (e_z + errors.lse).unaryExpr(&expm1_capped);
  errors.e = t.visible((epsilon.colwise() + errors.lse).unaryExpr(&expm1_capped));
  errors.forward = error_of_forward_P(t, epsilon, errors);
  return errors;
}

/// Tolerance of O.
Matrix<double> tolerance_of_O(const HeadTerms& t, const Arithmetic& a, const Pairs& error_of_P) {
  const double more = 1 + 4 * a.u, gamma_k = a.gamma(static_cast<double>(t.n_k()));
  const Pairs p = (a.u * t.P + error_of_P) * more + a.eta * t.seen;
  const Pairs sums = gamma_k * (t.P + error_of_P);
  return (t.over_keys(p + sums, t.V.cwiseAbs()).array() + a.u * more * t.exact.O.array().abs() +
          a.eta)
      .matrix();
}

/// Tolerance of D = Δ − dLSE, from that of O.
Rows tolerance_of_D(const HeadTerms& t, const Arithmetic& a, const Matrix<double>& tol_O) {
  const double gamma_v = a.gamma(static_cast<double>(t.d_v()));
  const Matrix<double> sums = gamma_v * t.over_keys(t.P, t.V.cwiseAbs());
  Rows tol = t.dO.cwiseAbs().cwiseProduct(tol_O + sums).rowwise().sum().array();
  if (a.materialised) tol += (t.P * (a.u * t.dP.abs() + a.eta)).rowwise().sum();
  if (t.has_dlse) tol += 2 * a.upsilon * (t.delta.abs() + t.dlse.abs());
  return tol;
}

/// b, error of dS; p is the error of the backward's rounded P. A kernel may hold scale·dS in place
/// of dS, which underflows earlier; the materialised path holds both, and dP.
Pairs error_of_dS(const HeadTerms& t, const Arithmetic& a, const Pairs& e, const Pairs& p,
                  const Rows& tol_D) {
  const double scale = std::abs(t.scale), gamma_v = a.gamma(static_cast<double>(t.d_v()));
  const bool may_hold_scaled = scale > 0 && !a.materialised;
  const double eta_S = may_hold_scaled ? a.eta * std::max(1.0, 1 / scale) : a.eta;
  Pairs e_delta = gamma_v * (t.dO.cwiseAbs() * t.V.cwiseAbs().transpose()).array() +
                  (2 * a.upsilon + a.w()) * (t.dP.abs().colwise() + t.D.abs());
  e_delta.colwise() += tol_D;
  if (a.materialised) e_delta += a.eta;
  return t.visible((1 + 4 * a.u) *
                   (p * (t.dP.colwise() - t.D).abs() + (t.P * (1 + a.u + e) + a.eta) * e_delta +
                    a.u * t.dS.abs() + eta_S));
}

/// b_X, error of the gradient of x, from b, that of the gradient of s.
Pairs error_of_dx(const HeadTerms& t, const Arithmetic& a, const Pairs& b, const Pairs& e_c) {
  Pairs b_x = b;
  if (t.cap > 0) {
    const Pairs e_t = e_c / t.cap;
    b_x = b * t.h + a.eta * t.seen +
          t.dS.abs() * (2 * (t.c / t.cap).abs() * e_t + e_t.square() + 4 * a.upsilon + a.w());
  }
  b_x = b_x * (1 + 2 * a.w()) + 2 * a.w() * t.dX.abs();
  if (a.materialised && t.scale != 0) b_x += a.eta / std::abs(t.scale);  // scale·dS, stored
  return t.visible(b_x);
}

}  // namespace

HeadContribution tolerance(const HeadTerms& t, const Arithmetic& a, double bias_repeats) {
  const double more = 1 + 4 * a.u, scale = std::abs(t.scale);
  const double gamma_k = a.gamma(static_cast<double>(t.n_k()));
  const double gamma_q = a.gamma(static_cast<double>(t.n_q() * t.group));
  HeadContribution tol;

  const Pairs e_c = error_of_capped(t, a);
  const SoftmaxErrors softmax = errors_of_softmax(t, a, e_c);
  tol.lse = softmax.lse.matrix();
  tol.O = tolerance_of_O(t, a, softmax.forward);
  const Rows tol_D = tolerance_of_D(t, a, tol.O);

  const Pairs p = t.P * (a.u + softmax.e) * more + a.eta * t.seen;
  const Pairs b = error_of_dS(t, a, softmax.e, p, tol_D);
  tol.dS = (b + a.gamma(bias_repeats) * t.dS.abs()).matrix();
  const Rows e_sink = softmax.sink + gamma_q + 4 * a.upsilon;
  tol.dsink = (t.P_sink * ((1 + softmax.sink) * tol_D + e_sink * t.D.abs())).sum();

  const Pairs b_x = error_of_dx(t, a, b, e_c), abs_dX = t.dX.abs();
  tol.dQ = (scale * t.over_keys(b_x + gamma_k * abs_dX, t.K.cwiseAbs()).array() +
            a.u * more * t.exact.dQ.array().abs() + a.eta)
               .matrix();
  tol.dK = scale * t.over_queries(b_x + gamma_q * abs_dX, t.Q.cwiseAbs());
  tol.dV = t.over_queries(p + gamma_q * t.P, t.dO.cwiseAbs());
  return tol;
}

}  // namespace flashbook::conformance
