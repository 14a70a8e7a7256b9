// Gate 1: what no correct kernel exceeds, whatever its order of summation.
#include "tests/conformance/head_terms.hpp"

namespace flashbook::conformance {
namespace {

/// e before LSE's share is added: relative error of P when S was off by its own error.
Pairs error_of_scores(const HeadTerms& t, const Arithmetic& a, const Pairs& e_c) {
  Pairs e = e_c + 8 * a.upsilon * (2 + (t.s.colwise() - t.L).abs()) + a.eps_exp;
  e.colwise() += 4 * a.upsilon * t.L.abs();
  if (t.has_bias) e += 4 * a.upsilon * t.added + a.w() * t.s.abs();
  return t.visible(e).min(700.0).unaryExpr([](double y) { return std::expm1(y); });
}

/// e_c, absolute error of the capped score.
Pairs error_of_capped(const HeadTerms& t, const Arithmetic& a) {
  const Pairs products = (t.Q.cwiseAbs() * t.K.cwiseAbs().transpose()).array();
  const double gamma_d = a.gamma(static_cast<double>(t.d()));
  Pairs e_x = std::abs(t.scale) * (gamma_d + 2 * a.w()) * products +
              (4 * a.upsilon + 2 * a.w()) * t.x.abs();
  if (t.cap == 0) return e_x;
  return (t.h + e_x / t.cap).min(1.0) * e_x + (a.eps_tanh + 4 * a.upsilon + a.w()) * t.c.abs();
}

/// e_z, relative error of the sink's weight.
Rows error_of_sink(const HeadTerms& t, const Arithmetic& a) {
  if (!t.sink) return Rows::Zero(t.n_q());
  const double z = *t.sink;
  return 4 * a.upsilon * (std::abs(z) + t.L.abs()) + 8 * a.upsilon * (2 + (z - t.L).abs()) +
         a.eps_exp + a.w() * std::abs(z);
}

/// b_X, error of the gradient of x, from b, that of the gradient of s.
Pairs error_of_dx(const HeadTerms& t, const Arithmetic& a, const Pairs& b, const Pairs& e_c) {
  Pairs b_x = b;
  if (t.cap > 0) {
    const Pairs e_t = e_c / t.cap;
    b_x = b * t.h + a.eta * t.seen +
          t.dS.abs() * (2 * (t.c / t.cap).abs() * e_t + e_t.square() + 4 * a.upsilon + a.w());
  }
  return t.visible(b_x * (1 + 2 * a.w()) + 2 * a.w() * t.dX.abs());
}

}  // namespace

HeadContribution tolerance(const HeadTerms& t, const Arithmetic& a, double bias_repeats) {
  const double n_k = static_cast<double>(t.n_k()), more = 1 + 4 * a.u;
  const double gamma_k = a.gamma(n_k), gamma_v = a.gamma(static_cast<double>(t.d_v()));
  const double gamma_q = a.gamma(static_cast<double>(t.n_q() * t.group));
  const double scale = std::abs(t.scale);
  const Matrix<double> abs_Q = t.Q.cwiseAbs(), abs_K = t.K.cwiseAbs(), abs_V = t.V.cwiseAbs(),
                       abs_dO = t.dO.cwiseAbs();
  HeadContribution tol;

  // Forward: e of P before it is rounded, p after.
  const Pairs e_c = error_of_capped(t, a);
  Pairs e = error_of_scores(t, a, e_c);
  const Rows e_z = error_of_sink(t, a);
  const Rows tol_lse = (t.P * e).rowwise().sum() + gamma_k + t.P_sink * e_z +
                       8 * a.upsilon * (1 + t.L.abs() + std::log(n_k + 1));
  tol.lse = tol_lse.matrix();
  e = t.visible(e.colwise() + tol_lse);
  const Pairs p = t.P * (a.u + e) * more + a.eta * t.seen;
  tol.O =
      (t.over_keys(p + gamma_k * t.P, abs_V).array() + a.u * more * t.exact.O.array().abs() + a.eta)
          .matrix();

  // D = Δ − dLSE.
  const Matrix<double> sum_PV = gamma_v * t.over_keys(t.P, abs_V);
  Rows tol_D = abs_dO.cwiseProduct(tol.O + sum_PV).rowwise().sum().array();
  if (a.materialised) tol_D += a.u * (t.P * t.dP.abs()).rowwise().sum();
  if (t.has_dlse) tol_D += 2 * a.upsilon * (t.delta.abs() + t.dlse.abs());

  // b: error of dS. A kernel may hold scale·dS, which underflows earlier.
  const double eta_S = scale > 0 ? a.eta * std::max(1.0, 1 / scale) : a.eta;
  Pairs e_delta = gamma_v * (abs_dO * abs_V.transpose()).array() +
                  (2 * a.upsilon + a.w()) * (t.dP.abs().colwise() + t.D.abs());
  e_delta.colwise() += tol_D;
  const Pairs b =
      t.visible(more * (p * (t.dP.colwise() - t.D).abs() + (t.P * (1 + a.u + e) + a.eta) * e_delta +
                        a.u * t.dS.abs() + eta_S));
  tol.dS = (b + a.gamma(bias_repeats) * t.dS.abs()).matrix();
  tol.dsink =
      (t.P_sink * (1 + e_z) * (tol_D + (e_z + tol_lse + gamma_q + 4 * a.upsilon) * t.D.abs()))
          .sum();

  const Pairs b_x = error_of_dx(t, a, b, e_c), abs_dX = t.dX.abs();
  tol.dQ = (scale * t.over_keys(b_x + gamma_k * abs_dX, abs_K).array() +
            a.u * more * t.exact.dQ.array().abs() + a.eta)
               .matrix();
  tol.dK = scale * t.over_queries(b_x + gamma_q * abs_dX, abs_Q);
  tol.dV = t.over_queries(p + gamma_q * t.P, abs_dO);
  return tol;
}

}  // namespace flashbook::conformance
