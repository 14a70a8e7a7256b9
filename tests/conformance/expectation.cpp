#include "tests/conformance/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/conformance/head_sums.hpp"

namespace flashbook::conformance {
namespace {

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

/// Adds the rounding of each output element, and puts to 0 the tolerance of what must be exact:
/// elements without a visible pair, and gradients of a loss that depends on nothing.
void finish_tolerance(HeadSums& sums, const Arithmetic& a) {
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
bool is_statistical(const HeadSums& sums, Output output, const Arithmetic& a) {
  return sums.ideal_runs() > 0 && a.w() * sums.largest_score <= 1 &&
         all_representable(sums.exact[output], a.dtype);
}

/// Gate 2's limit for one output, if it applies.
std::optional<double> rms_limit(const HeadSums& sums, Output output, const Arithmetic& a) {
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
void add_direction(std::vector<Direction>& directions, const HeadSums& sums, const char* name,
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

Expectation expectation_of(HeadSums sums, const AttentionProblem& problem, const Arithmetic& a) {
  finish_tolerance(sums, a);
  Expectation expected = {a, {}, {}, {}, {}, std::move(sums.overflow)};
  for (Output output : all_outputs) {
    expected.rms_limit[output] = rms_limit(sums, output, a);
    if (output == Output::LSE || output > Output::dV) continue;
    add_direction(expected.directions, sums, name(output).data(), output, sums.exact[output],
                  shape(problem, output)[3], a);
  }
  add_direction(expected.directions, sums, "Δ", Output::dQ, sums.delta[Output::dQ], problem->d, a);
  expected.exact = std::move(sums.exact);
  expected.tolerance = std::move(sums.tolerance);
  return expected;
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
  return expectation_of({problem, inputs, cotangents, arithmetic, false}, problem, arithmetic);
}

Expectation expect_rows(const AttentionProblem& problem, const Inputs& inputs,
                        const Cotangents& cotangents, const Arithmetic& arithmetic) {
  return expectation_of({problem, inputs, cotangents, arithmetic, true}, problem, arithmetic);
}

}  // namespace flashbook::conformance
