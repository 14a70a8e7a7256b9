#include "tests/conformance/large_columns.hpp"

#include <algorithm>
#include <cmath>

#include "tests/conformance/head_terms.hpp"

namespace flashbook::conformance {
namespace {

constexpr Index chunk = 512;  // queries at a time

/// Rows [first, first + count) of a head of a tensor, widened.
template <class T>
Matrix<double> rows_of(const void* data, const flashbook_strides& strides, Index channels,
                       Index batch, Index head, Index first, Index count) {
  const TensorView<const T> view(static_cast<const T*>(data), strides, channels);
  Matrix<double> rows(count, channels);
  for (Index i = 0; i < count; ++i)
    for (Index c = 0; c < channels; ++c)
      rows(i, c) = static_cast<double>(view.row(batch, first + i, head)[c]);
  return rows;
}

/// Sums over the queries that see the keys of a block.
class Columns {
 public:
  Columns(const AttentionProblem& problem, const Inputs& inputs, const Cotangents& cotangents,
          const Results& results, const Arithmetic& arithmetic, const KeyBlock& keys)
      : problem_(problem),
        p_(problem.fields()),
        inputs_(inputs),
        cotangents_(cotangents),
        results_(results),
        a_(arithmetic),
        keys_(keys),
        K_(load(inputs.k, p_.k, p_.d, keys.kv_head, keys.first, keys.count)),
        V_(load(inputs.v, p_.v, p_.d_v, keys.kv_head, keys.first, keys.count)) {
    dK = tol_dK = Matrix<double>::Zero(keys.count, p_.d);
    dV = tol_dV = Matrix<double>::Zero(keys.count, p_.d_v);
    for (Index head = keys.kv_head * problem.group(); head < (keys.kv_head + 1) * problem.group();
         ++head)
      for (Index first = 0; first < p_.n_q; first += chunk)
        add(head, first, std::min(chunk, p_.n_q - first));
    const double rounding = a_.u * (1 + 4 * a_.u);
    tol_dK.array() += rounding * dK.array().abs() + a_.eta;
    tol_dV.array() += rounding * dV.array().abs() + a_.eta;
  }

  Matrix<double> dK, dV, tol_dK, tol_dV;

 private:
  Matrix<double> load(const void* data, const flashbook_strides& strides, Index channels,
                      Index head, Index first, Index count) const {
    return with_element_type(problem_.dtype(), [&](auto element) {
      return rows_of<decltype(element)>(data, strides, channels, keys_.batch, head, first, count);
    });
  }

  /// O, LSE and dLSE of query `i` come by their logical index.
  Rows lse_of(Index head, Index first, Index count) const {
    Rows lse(count);
    for (Index i = 0; i < count; ++i)
      lse(i) = results_[Output::LSE].get((keys_.batch * p_.heads_q + head) * p_.n_q + first + i);
    return lse;
  }
  Rows dlse_of(Index head, Index first, Index count) const {
    if (!p_.has_dlse) return Rows::Zero(count);
    const auto* dlse = static_cast<const float*>(cotangents_.lse) +
                       (keys_.batch * p_.heads_q + head) * p_.n_q + first;
    return Eigen::Map<const Eigen::ArrayXf>(dlse, count).cast<double>();
  }
  Pairs seen(Index first, Index count) const {
    const Member member = problem_.member(keys_.batch);
    Pairs seen(count, keys_.count);
    for (Index i = 0; i < count; ++i)
      for (Index j = 0; j < keys_.count; ++j)
        seen(i, j) = problem_.visible(member, first + i, keys_.first + j);
    return seen;
  }

  /// Symbols as in docs/gates.md.
  void add(Index head, Index first, Index count) {
    const Pairs visible = seen(first, count);
    if ((visible == 0).all()) return;
    Matrix<double> Q = load(inputs_.q, p_.q, p_.d, head, first, count);
    Matrix<double> O = load(results_[Output::O].data(), p_.o, p_.d_v, head, first, count);
    Matrix<double> dO = load(cotangents_.o, p_.grad_o, p_.d_v, head, first, count);
    Rows L = lse_of(head, first, count);
    const Rows dlse = dlse_of(head, first, count);
    for (Index i = 0; i < count; ++i)
      if ((visible.row(i) == 0).all()) {  // it may be an empty row, which holds anything
        for (Matrix<double>* M : {&Q, &O, &dO}) M->row(i).setZero();
        L(i) = 0;
      }
    const Rows D = dO.cwiseProduct(O).rowwise().sum().array() - dlse;
    const double scale = std::abs(p_.scale), more = 1 + 4 * a_.u;
    const double gamma_d = a_.gamma(static_cast<double>(p_.d)),
                 gamma_v = a_.gamma(static_cast<double>(p_.d_v)),
                 gamma_q = a_.gamma(static_cast<double>(p_.n_q * problem_.group()));

    const Pairs s = (p_.scale * (Q * K_.transpose())).array();
    const Pairs P = (visible > 0).select((s.colwise() - L).exp(), 0.0);
    const Pairs dP = (dO * V_.transpose()).array();
    const Pairs dS = (visible > 0).select(P * (dP.colwise() - D), 0.0);

    Pairs epsilon = scale * gamma_d * (Q.cwiseAbs() * K_.cwiseAbs().transpose()).array() +
                    4 * a_.upsilon * s.abs() + 8 * a_.upsilon * (2 + (s.colwise() - L).abs()) +
                    a_.eps_exp;
    epsilon.colwise() += 4 * a_.upsilon * L.abs();
    const Pairs e = epsilon.unaryExpr([](double x) { return std::expm1(std::min(x, 700.0)); });
    const Rows tol_D = gamma_v * dO.cwiseProduct(O).cwiseAbs().rowwise().sum().array() +
                       2 * a_.upsilon * (D.abs() + 2 * dlse.abs());
    Pairs e_delta = gamma_v * (dO.cwiseAbs() * V_.cwiseAbs().transpose()).array() +
                    2 * a_.upsilon * (dP.abs().colwise() + D.abs());
    e_delta.colwise() += tol_D;
    const Pairs p = (visible > 0).select(P * (a_.u + e) * more + a_.eta, 0.0);
    const Pairs b =
        (visible > 0)
            .select(more * (p * (dP.colwise() - D).abs() + (P * (1 + a_.u + e) + a_.eta) * e_delta +
                            a_.u * dS.abs() + a_.eta * std::max(1.0, scale > 0 ? 1 / scale : 1)),
                    0.0);

    dV += P.matrix().transpose() * dO;
    dK += p_.scale * (dS.matrix().transpose() * Q);
    tol_dV += (p + gamma_q * P).matrix().transpose() * dO.cwiseAbs();
    tol_dK += scale * ((b + gamma_q * dS.abs()).matrix().transpose() * Q.cwiseAbs());
  }

  const AttentionProblem& problem_;
  const flashbook_problem& p_;
  const Inputs& inputs_;
  const Cotangents& cotangents_;
  const Results& results_;
  const Arithmetic& a_;
  const KeyBlock& keys_;
  Matrix<double> K_, V_;
};

std::vector<double> numbers(const Matrix<double>& M) {
  return {M.data(), M.data() + M.size()};
}

}  // namespace

Expectation expect_columns(const AttentionProblem& problem, const Inputs& inputs,
                           const Cotangents& cotangents, const Results& results,
                           const Arithmetic& arithmetic, const KeyBlock& keys) {
  const Columns columns(problem, inputs, cotangents, results, arithmetic, keys);
  Expectation expected = {arithmetic, {}, {}, {}, {}, {}};
  expected.exact[Output::dK] = numbers(columns.dK);
  expected.exact[Output::dV] = numbers(columns.dV);
  expected.tolerance[Output::dK] = numbers(columns.tol_dK);
  expected.tolerance[Output::dV] = numbers(columns.tol_dV);
  return expected;
}

}  // namespace flashbook::conformance
