#include <Eigen/Core>
#include <functional>
#include <limits>
#include <random>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using flashbook::book::Judge;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t keys = 32, rows = 64;

double bf16(double x) {
  return static_cast<double>(Eigen::bfloat16(static_cast<float>(x)));
}

/// What the comparison is given.
struct Output {
  Values got, exact, tolerance, ideal_errors;
};

bool accepts(const Output& output) {
  return is_right(output.got, output.exact, output.tolerance, output.ideal_errors);
}

/// One element of O, Σ_j P_j v_j, of a random row.
struct Element {
  Values p, v;

  explicit Element(std::mt19937& random) : p(keys), v(keys) {
    std::normal_distribution<double> normal;
    double sum = 0;
    for (double& x : p) sum += x = std::exp(normal(random));
    for (double& x : p) x /= sum;
    for (double& x : v) x = bf16(normal(random));
  }

  /// P held `scale` times as large, in bf16; the result in bf16, too.
  double rounded(double scale) const {
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) sum += bf16(scale * p[j]) / scale * v[j];
    return bf16(sum);
  }
  double exact() const {
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) sum += p[j] * v[j];
    return sum;
  }
  /// Each weight and the result may be off by a rounding, all in the same direction.
  double tolerance() const {
    constexpr double u = 1. / 256;
    double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) sum += u * p[j] * std::abs(v[j]);
    return sum + u * (std::abs(exact()) + sum);
  }
};

/// Of a correct kernel, which holds P `scale` times as large. One row sees no key.
Output correct(unsigned seed, double scale) {
  std::mt19937 random(seed);
  Output output;
  for (std::size_t i = 0; i < rows; ++i) {
    const Element element(random);
    output.got.push_back(element.rounded(scale));
    output.exact.push_back(element.exact());
    output.tolerance.push_back(element.tolerance());
    output.ideal_errors.push_back(element.rounded(1) - element.exact());
  }
  output.got.push_back(-infinity);
  output.exact.push_back(-infinity);
  output.tolerance.push_back(0);
  output.ideal_errors.push_back(0);
  return output;
}

/// Of a kernel whose errors are `factor` times the ideal kernel's.
Output with_errors(unsigned seed, double factor) {
  Output output = correct(seed, 1);
  for (std::size_t i = 0; i < rows; ++i)
    output.got[i] = output.exact[i] + factor * output.ideal_errors[i];
  return output;
}

using Fault = std::function<void(Output&)>;

void must_reject(Judge& judge, const std::string& what, const Fault& plant) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Output output = correct(seed, 1);
    plant(output);
    judge.require(!accepts(output), "accepts " + what);
  }
}

}  // namespace

int main() {
  Judge judge;
  for (unsigned seed = 1; seed <= 5; ++seed)
    for (const double scale : {1., 1.3, 1.7})
      judge.require(accepts(correct(seed, scale)), "rejects the output of a correct kernel");
  for (unsigned seed = 1; seed <= 5; ++seed) {
    judge.require(accepts(with_errors(seed, 1.4)),
                  "rejects errors 1.4 times as large as the ideal kernel's");
    judge.require(!accepts(with_errors(seed, 1.6)),
                  "accepts errors 1.6 times as large as the ideal kernel's");
  }
  must_reject(judge, "NaN in one element",
              [](Output& o) { o.got[7] = std::numeric_limits<double>::quiet_NaN(); });
  must_reject(judge, "NaN where −∞ should be",
              [](Output& o) { o.got[rows] = std::numeric_limits<double>::quiet_NaN(); });
  must_reject(judge, "+∞ for −∞", [](Output& o) { o.got[rows] = infinity; });
  must_reject(judge, "one element that is off by 1.1 times what it may be",
              [](Output& o) { o.got[9] = o.exact[9] + 1.1 * o.tolerance[9]; });
  must_reject(judge, "the last 8 elements 0, as if nobody had written them", [](Output& o) {
    for (std::size_t i = rows - 8; i < rows; ++i) o.got[i] = 0;
  });
  must_reject(judge, "all elements 1 % too large", [](Output& o) {
    for (std::size_t i = 0; i < rows; ++i) o.got[i] *= 1.01;
  });
  must_reject(judge, "errors nearly as large as each may be, all in one direction", [](Output& o) {
    for (std::size_t i = 0; i < rows; ++i) o.got[i] = o.exact[i] + .9 * o.tolerance[i];
  });
  return judge.verdict();
}
