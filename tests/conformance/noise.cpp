#include <algorithm>

#include "tests/conformance/head_terms.hpp"

/// Gate 2's second half: F², the variance of what fp32 arithmetic adds. A sum of n terms errs by √n
/// υ of its root sum of squares and of its value, and by n υ/3 of its value where equal terms,
/// added one by one, all round the same way.
namespace flashbook::conformance {
namespace {

double squared(double y) {
  return y * y;
}

/// Smallest normal number in fp32: a P or dS below it may be flushed to 0. (What fp16 flushes, the
/// ideal kernel does.)
constexpr double flushed2 = 0x1p-126 * 0x1p-126;

/// f², relative variance of P, without the part λ that a whole row shares.
Pairs noise_of_scores(const HeadTerms& t, const Arithmetic& a) {
  const Pairs products = (t.Q.cwiseAbs2() * t.K.cwiseAbs2().transpose()).array();
  Pairs f2 =
      t.h.square() * static_cast<double>(t.d()) * (squared(t.scale) * products + t.x.square()) +
      t.c.square() + 4 * (2 + (t.s.colwise() - t.L).abs()).square();
  f2.colwise() += t.L.square();
  if (t.has_bias) f2 += t.added.square();
  f2 = squared(a.upsilon) * f2 + squared(a.eps_exp);
  if (t.cap > 0) f2 += (a.eps_tanh * t.c).square();
  return t.visible(f2);
}

/// Absolute variance of the soft-cap's slope, 1 − tanh², from that of tanh: where the cap is
/// reached, nothing of the slope may be right.
Pairs noise_of_slope(const HeadTerms& t, const Arithmetic& a) {
  return 4 * (t.c / t.cap).square().square() * (squared(a.eps_tanh) + squared(a.upsilon));
}

}  // namespace

double noise_of_sum(double n, const Arithmetic& a) {
  return n * squared(a.upsilon) + squared(n * a.upsilon / 3);
}

Rows noise_of_lse(const HeadTerms& t, const Arithmetic& a) {
  return (t.P * noise_of_scores(t, a)).rowwise().sum() +
         noise_of_sum(static_cast<double>(t.n_k()), a);
}

HeadContribution noise(const HeadTerms& t, const Arithmetic& a) {
  const double v2 = squared(a.upsilon), d_v = static_cast<double>(t.d_v());
  const double n_k = static_cast<double>(t.n_k()), n_q = static_cast<double>(t.n_q() * t.group);
  const Matrix<double> Q2 = t.Q.cwiseAbs2(), K2 = t.K.cwiseAbs2(), V2 = t.V.cwiseAbs2(),
                       dO2 = t.dO.cwiseAbs2();
  const Pairs P2 = t.P.square(), dS2 = t.dS.square(), dX2 = t.dX.square(), Ph = t.P * t.h;
  const Rows lambda = noise_of_lse(t, a), lambda_s = lambda + noise_of_sum(n_k, a);
  const Pairs f2 = t.visible(noise_of_scores(t, a).colwise() + lambda);
  HeadContribution F2;

  const Pairs O2 = t.exact.O.array().square();
  const Pairs P_error2 = P2 * f2 + flushed2 * t.seen;
  F2.O = (t.over_keys(P_error2 + n_k * v2 * P2, V2).array() + O2.colwise() * lambda_s).matrix();
  const Rows F2_D =
      F2.O.cwiseProduct(dO2).rowwise().sum().array() + lambda_s * t.delta.square() +
      d_v * v2 * (dO2.cwiseProduct(O2.matrix()).rowwise().sum().array() + t.delta.square());

  Pairs of_dP = v2 * (d_v * (dO2 * V2.transpose()).array() + (d_v + 2) * t.dP.square());
  of_dP.colwise() += 2 * v2 * t.D.square();
  const double flushed_dS2 = flushed2 * (t.scale == 0 ? 1 : std::max(1.0, 1 / squared(t.scale)));
  const Pairs S =
      t.visible(dS2 * f2 + P2 * of_dP + flushed_dS2 + flushed2 * (t.dP.colwise() - t.D).square());
  F2.dS = (S + P2.colwise() * F2_D).matrix();
  const Pairs X = t.cap > 0 ? Pairs(t.h.square() * (S + dS2 * f2) + dS2 * noise_of_slope(t, a))
                            : Pairs(t.h.square() * S);

  const double scale2 = squared(t.scale);
  const Matrix<double> PhK = t.over_keys(Ph, t.K), weighted_Q2 = F2_D.matrix().asDiagonal() * Q2;
  F2.dQ = (scale2 * (t.over_keys(X + n_k * v2 * dX2, K2).array() +
                     PhK.array().square().colwise() * F2_D) +
           t.exact.dQ.array().square().colwise() * lambda_s)
              .matrix();
  F2.dK =
      scale2 * (t.over_queries(X + n_q * v2 * dX2, Q2) + t.over_queries(Ph.square(), weighted_Q2));
  F2.dV = t.over_queries(P_error2 + n_q * v2 * P2, dO2);
  return F2;
}

}  // namespace flashbook::conformance
