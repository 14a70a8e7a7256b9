#include "tests/conformance/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/head_terms.hpp"

namespace flashbook::conformance {
namespace {

constexpr int runs = 8;                 // of the ideal kernel
constexpr double slack = 1.5;           // gate 2's and 3's one constant
constexpr std::ptrdiff_t enough = 256;  // elements that are not 0, for a mean to mean something

/// ⟨e, G⟩/⟨G, G⟩ and its standard error if rows of `channels` elements err independently.
struct Component {
  double along = 0, standard_error = 0;
};

Component component(const std::vector<double>& e, const std::vector<double>& G, Index channels) {
  double norm = 0, sum = 0, squares = 0;
  for (double g : G) norm += g * g;
  if (!(norm > 0)) return {};
  const std::size_t width = static_cast<std::size_t>(channels);
  for (std::size_t row = 0; row < G.size(); row += width) {
    double t = 0;
    for (std::size_t c = row; c < row + width; ++c) t += e[c] * G[c];
    sum += t;
    squares += t * t;
  }
  return {sum / norm, std::sqrt(squares) / norm};
}

/// Standard error of the component along G of what rounding each element of X once adds: in a few
/// elements the ideal runs may all happen to round alike.
double error_of_one_rounding(const std::vector<double>& X, const std::vector<double>& G, double u) {
  double norm = 0, squares = 0;
  for (std::size_t i = 0; i < G.size(); ++i) {
    norm += G[i] * G[i];
    squares += (X[i] * G[i]) * (X[i] * G[i]);
  }
  return norm > 0 ? u * std::sqrt(squares / 3) / norm : 0;
}

double mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (double y : x) sum += y * y;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double y : x) sum += y;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

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

/// All sums over heads that an expectation is made of.
class Sums {
 public:
  Sums(const AttentionProblem& problem, const Inputs& inputs, const Cotangents& cotangents,
       const Arithmetic& a)
      : problem_(problem), a_(a), ideal_(a.dtype == DType::fp64 ? 0 : runs, zeros(problem)) {
    exact = tolerance = contributing = variance = delta = zeros(problem);
    const flashbook_problem& p = problem.fields();
    for (Index b = 0; b < p.members; ++b)
      for (Index kv_head = 0; kv_head < p.heads_kv; ++kv_head)
        add_group(inputs, cotangents, problem.member(b), kv_head);
    if (p.packed) set_slack();
  }

  /// Errors of run n of the ideal kernel.
  std::vector<double> ideal_error(std::size_t n, Output output) const {
    std::vector<double> error = ideal_[n][output];
    round_all(a_.dtype, error.data(), static_cast<Index>(error.size()));
    for (std::size_t i = 0; i < error.size(); ++i) error[i] -= exact[output][i];
    return error;
  }
  std::size_t ideal_runs() const { return ideal_.size(); }

  Numbers exact, tolerance, contributing, variance, delta;
  std::string overflow;
  double largest_score = 0;
  bool zero_cotangents = true;  // where a row sees a key

 private:
  void add_group(const Inputs& inputs, const Cotangents& cotangents, const Member& m,
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

  void add_head(const Member& m, Index head, const HeadTerms& t) {
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
    std::exception_ptr thrown;  // may not leave a parallel loop
#pragma omp parallel for
    for (std::size_t n = 0; n < ideal_.size(); ++n) {
      try {
        add(ideal_[n], ideal(t, a_, static_cast<int>(n)));
      } catch (...) {
#pragma omp critical(flashbook_ideal_thrown)
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  /// R: terms that a bias element's gradient sums.
  double bias_repeats() const {
    const flashbook_problem& p = problem_.fields();
    const double pairs = static_cast<double>(p.batch * p.heads_q) * static_cast<double>(p.n_q) *
                         static_cast<double>(p.n_k);
    return pairs / std::max(1.0, static_cast<double>(problem_.bias_size()));
  }

  void set_slack() {
    const flashbook_problem& p = problem_.fields();
    for (Index head = 0; head < p.heads_q; ++head)
      for (Index i = problem_.first_slack_q(); i < p.n_q; ++i)
        exact[Output::LSE][static_cast<std::size_t>(head * p.n_q + i)] = minus_infinity<double>;
  }

  const AttentionProblem& problem_;
  const Arithmetic& a_;
  std::vector<Numbers> ideal_;
};

/// Adds the rounding of each output element, and puts to 0 the tolerance of what must be exact:
/// elements without a visible pair, and gradients of a loss that depends on nothing.
void finish_tolerance(Sums& sums, const Arithmetic& a) {
  for (Output output : all_outputs) {
    const double rounding = output == Output::dSinks ? a.u : a.u * (1 + 4 * a.u);
    const bool is_sum = output > Output::dQ;  // over heads: not yet rounded
    for (std::size_t i = 0; i < sums.tolerance[output].size(); ++i) {
      double& tol = sums.tolerance[output][i];
      if (is_sum && std::isfinite(tol)) tol += rounding * std::abs(sums.exact[output][i]) + a.eta;
      if (a.dtype == DType::fp64) tol *= 2;
      const bool contributes = sums.contributing[output][i] > 0;
      if (!contributes || (sums.zero_cotangents && is_gradient(output))) tol = 0;
    }
  }
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

bool all_representable(std::vector<double> values, DType dtype) {
  round_all(dtype, values.data(), static_cast<Index>(values.size()));
  return all_finite(values);
}

/// Whether errors are small enough for the ideal kernel's to speak for them: a stored score that
/// may be off by 1 leaves it to chance which key wins its row.
bool is_statistical(const Sums& sums, Output output, const Arithmetic& a) {
  return sums.ideal_runs() > 0 && a.w() * sums.largest_score <= 1 &&
         all_representable(sums.exact[output], a.dtype);
}

/// Gate 2's limit for one output, if it applies.
std::optional<double> rms_limit(const Sums& sums, Output output, const Arithmetic& a) {
  const bool has_ideal = output != Output::LSE && output != Output::dSinks;
  const std::vector<double>& contributing = sums.contributing[output];
  const auto elements = std::count_if(contributing.begin(), contributing.end(),
                                      [](double pairs) { return pairs > 0; });
  if (!has_ideal || elements < enough || !is_statistical(sums, output, a)) return std::nullopt;
  double largest = 0;
  for (std::size_t n = 0; n < sums.ideal_runs(); ++n)
    largest = std::max(largest, mean_square(sums.ideal_error(n, output)));
  const double limit = slack * std::sqrt(largest + mean(sums.variance[output]));
  return std::isfinite(limit) ? std::optional(limit) : std::nullopt;
}

/// Gate 3's limit for one direction, if it applies.
void add_direction(std::vector<Direction>& directions, const Sums& sums, const char* name,
                   Output output, const std::vector<double>& G, Index channels,
                   const Arithmetic& a) {
  if (G.empty() || !all_finite(G) || !is_statistical(sums, output, a)) return;
  double gain = 0, standard_error = error_of_one_rounding(sums.exact[output], G, a.u);
  for (std::size_t n = 0; n < sums.ideal_runs(); ++n) {
    const Component c = component(sums.ideal_error(n, output), G, channels);
    gain = std::max(gain, std::abs(c.along));
    standard_error = std::max(standard_error, c.standard_error);
  }
  const double size = mean_square(G);
  const double fp32 = size > 0 ? std::sqrt(mean(sums.variance[output]) / size) : 0;
  const double limit = a.u / 2 + slack * (gain + fp32) + 4 * standard_error;
  if (std::isfinite(limit)) directions.push_back({name, output, G, limit});
}

}  // namespace

Arithmetic arithmetic_of(DType dtype, const Properties& properties) {
  Arithmetic a = {dtype,
                  0x1p-24,
                  0x1p-24,
                  0x1p-126,
                  properties.eps_exp,
                  properties.eps_tanh,
                  properties.materialised};
  if (dtype == DType::fp16) a.u = 0x1p-11, a.eta = 0x1p-25;
  if (dtype == DType::bf16) a.u = 0x1p-8;
  if (dtype == DType::fp64) a.upsilon = a.u = 0x1p-53, a.eps_exp = a.eps_tanh = 0x1p-51;
  return a;
}

Expectation expect(const AttentionProblem& problem, const Inputs& inputs,
                   const Cotangents& cotangents, const Arithmetic& arithmetic) {
  Sums sums(problem, inputs, cotangents, arithmetic);
  finish_tolerance(sums, arithmetic);
  Expectation expected = {arithmetic, {}, {}, {}, {}, std::move(sums.overflow)};
  for (Output output : all_outputs) {
    expected.rms_limit[output] = rms_limit(sums, output, arithmetic);
    if (output == Output::LSE || output > Output::dV) continue;
    add_direction(expected.directions, sums, name(output).data(), output, sums.exact[output],
                  shape(problem, output)[3], arithmetic);
  }
  add_direction(expected.directions, sums, "Δ", Output::dQ, sums.delta[Output::dQ], problem->d,
                arithmetic);
  expected.exact = std::move(sums.exact);
  expected.tolerance = std::move(sums.tolerance);
  return expected;
}

}  // namespace flashbook::conformance
