#include "tests/conformance/head_sums.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "cpu_reference/standard.hpp"

namespace flashbook::conformance {
namespace {

constexpr int runs = 8;  // of the ideal kernel

/// 1 in every element that some visible pair contributes to.
HeadContribution contributions(const HeadTerms& t) {
  const auto broadcast = [](const Rows& any, Index columns) {
    return Matrix<double>(any.matrix().replicate(1, columns));
  };
  const Rows rows = t.n_k() > 0 ? Rows(t.seen.rowwise().maxCoeff()) : Rows::Zero(t.n_q());
  const Rows keys =
      t.n_q() > 0 ? Rows(t.seen.colwise().maxCoeff().transpose()) : Rows::Zero(t.n_k());
  HeadContribution part;
  part.O = broadcast(rows, t.d_v());
  part.dQ = broadcast(rows, t.d());
  part.dK = broadcast(keys, t.d());
  part.dV = broadcast(keys, t.d_v());
  part.dS = t.seen.matrix();
  part.lse = t.sink ? Vector<double>::Ones(t.n_q()) : Vector<double>(rows.matrix());
  part.dsink = 1;
  return part;
}

/// What a relative error of Δ adds to dQ: −scale·Δ∘((P∘h)K).
HeadContribution direction_of_delta(const HeadTerms& t) {
  HeadContribution part;
  part.dQ = (t.over_keys(t.P * t.h, t.K).array().colwise() * (-t.scale * t.delta)).matrix();
  return part;
}

/// Whether an intermediate that the materialised path stores is too large for its dtype.
std::string find_overflow(const HeadTerms& t, DType dtype) {
  const auto check = [&](const char* what, const Pairs& M) -> std::string {
    double largest = M.size() > 0 ? M.isFinite().select(M.abs(), 0.0).maxCoeff() : 0;
    const double magnitude = largest;
    round_all(dtype, &largest, 1);
    if (!std::isinf(largest)) return {};
    return std::string("|") + what + "| reaches " + std::to_string(magnitude) + ", which " +
           std::string(name(dtype)) + " cannot store";
  };
  for (const auto& [what, M] :
       {std::pair<const char*, const Pairs&>{"S", t.x}, {"S", t.s}, {"dP", t.dP}, {"dS", t.dS}})
    if (std::string found = check(what, M); !found.empty()) return found;
  return check("scale·dS", t.scale * t.dX);
}

/// Whether NaN in dO may be lost to dSinks: beside a sink a row whose keys all weigh nothing has
/// the O and LSE of an empty row, whose dO does not matter, and a kernel that reads no more cannot
/// tell them apart.
bool may_lose_dO(const HeadTerms& t, const HeadContribution& allowed) {
  for (Index i = 0; i < t.n_q(); ++i)
    if (!t.dO.row(i).allFinite() &&
        (t.exact.O.row(i).array().abs() <= allowed.O.row(i).array()).all())
      return true;
  return false;
}

}  // namespace

HeadSums::HeadSums(const AttentionProblem& problem, const Inputs& inputs,
                   const Cotangents& cotangents, const Arithmetic& a, bool of_rows)
    : problem_(problem), a_(a) {
  Numbers none = zeros(problem);
  if (of_rows) none[Output::dK] = none[Output::dV] = {};
  exact = tolerance = contributing = variance = delta = none;
  if (a.dtype != DType::fp64) ideal_.assign(runs, none);
  const flashbook_problem& p = problem.fields();
  for (Index b = 0; b < p.members; ++b)
    for (Index kv_head = 0; kv_head < p.heads_kv; ++kv_head)
      add_group(inputs, cotangents, problem.member(b), kv_head);
  if (p.packed) set_slack();
}

std::vector<double> HeadSums::ideal_error(std::size_t n, Output output) const {
  std::vector<double> error = ideal_[n][output];
  round_all(a_.dtype, error.data(), static_cast<Index>(error.size()));
  for (std::size_t i = 0; i < error.size(); ++i) error[i] -= exact[output][i];
  return error;
}

void HeadSums::add_group(const Inputs& inputs, const Cotangents& cotangents, const Member& m,
                         Index kv_head) {
  const Index first = kv_head * problem_.group();
  Matrix<double> dK = Matrix<double>::Zero(m.n_k, problem_->d);
  Matrix<double> dV = Matrix<double>::Zero(m.n_k, problem_->d_v);
  double lambda = 0, rows = 1;
  for (Index head = first; head < first + problem_.group(); ++head) {
    const HeadTerms t(problem_, inputs, cotangents, m, head);
    add_head(m, head, t);
    if (a_.dtype == DType::fp64) continue;
    dK += t.exact.dK;
    dV += t.exact.dV;
    rows = static_cast<double>(t.n_q() * t.group);
    if (t.n_q() > 0) lambda = std::max(lambda, noise_of_lse(t, a_).maxCoeff());
  }
  if (a_.dtype == DType::fp64) return;
  HeadContribution shared;  // the error of LSE that all rows may have in common
  shared.dK = (lambda + noise_of_sum(rows, a_)) * dK.cwiseAbs2();
  shared.dV = (lambda + noise_of_sum(rows, a_)) * dV.cwiseAbs2();
  conformance::add_head(variance, problem_, m, first, shared);
}

void HeadSums::add_head(const Member& m, Index head, const HeadTerms& t) {
  const auto add = [&](Numbers& sum, const HeadContribution& part) {
    conformance::add_head(sum, problem_, m, head, part);
  };
  add(exact, t.exact);
  HeadContribution allowed = conformance::tolerance(t, a_, bias_repeats());
  if (t.sink && may_lose_dO(t, allowed)) allowed.dsink = std::numeric_limits<double>::infinity();
  add(tolerance, allowed);
  add(contributing, contributions(t));
  zero_cotangents = zero_cotangents && (t.dO.array() == 0).all() && (t.dlse == 0).all();
  if (t.s.size() > 0)
    largest_score = std::max(largest_score, t.s.abs().maxCoeff<Eigen::PropagateNumbers>());
  if (a_.materialised && overflow.empty()) overflow = find_overflow(t, a_.dtype);
  if (a_.dtype == DType::fp64) return;
  add(variance, noise(t, a_));
  add(delta, direction_of_delta(t));
  add_ideal_runs(m, head, t);
}

void HeadSums::add_ideal_runs(const Member& m, Index head, const HeadTerms& t) {
  std::exception_ptr thrown;  // may not leave a parallel loop
#pragma omp parallel for
  for (std::size_t n = 0; n < ideal_.size(); ++n) {
    try {
      conformance::add_head(ideal_[n], problem_, m, head, ideal(t, a_, static_cast<int>(n)));
    } catch (...) {
#pragma omp critical(flashbook_ideal_thrown)
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

/// R: terms that a bias element's gradient sums.
double HeadSums::bias_repeats() const {
  const flashbook_problem& p = problem_.fields();
  const double pairs = static_cast<double>(p.batch * p.heads_q) * static_cast<double>(p.n_q) *
                       static_cast<double>(p.n_k);
  return pairs / std::max(1.0, static_cast<double>(problem_.bias_size()));
}

void HeadSums::set_slack() {
  const flashbook_problem& p = problem_.fields();
  for (Index head = 0; head < p.heads_q; ++head)
    for (Index i = problem_.first_slack_q(); i < p.n_q; ++i)
      exact[Output::LSE][static_cast<std::size_t>(head * p.n_q + i)] = minus_infinity<double>;
}

}  // namespace flashbook::conformance
