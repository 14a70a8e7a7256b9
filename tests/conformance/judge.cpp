#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/head_terms.hpp"
#include "tests/conformance/judge.hpp"

namespace flashbook::conformance {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Fraction of gate 1 that an element uses; infinite for a number where NaN or Inf is right, for
/// the other way round, and for any error where none is allowed.
double fraction(double got, double exact, double tolerance, Output output, DType dtype) {
  if (got == exact) return 0;
  if (std::isnan(exact)) return std::isnan(got) || tolerance == infinity ? 0 : infinity;
  // On the way to an infinite result, ∞ − ∞ and 0·∞ are NaN; an LSE of −∞ is not arithmetic.
  if (std::isinf(exact)) return std::isnan(got) && output != Output::LSE ? 0 : infinity;
  if (std::isinf(got)) {  // of a result that rounds to infinity
    double farthest = exact + std::copysign(tolerance, got);
    round_all(output == Output::LSE ? DType::fp32 : dtype, &farthest, 1);
    return farthest == got ? 0 : infinity;
  }
  const double error = std::abs(got - exact);
  return error <= infinity && tolerance > 0 ? error / tolerance : infinity;
}

/// Whether `used` is the most so far: NaN is more than any number, and nothing is more than NaN.
bool is_more(double used, double most) {
  return !std::isnan(most) && !(used <= most);
}

std::array<Index, 4> coordinates(std::size_t index, const std::array<Index, 4>& sizes) {
  std::array<Index, 4> at = {};
  auto rest = static_cast<Index>(index);
  for (std::size_t axis = 4; axis-- > 0; rest /= sizes[axis]) at[axis] = rest % sizes[axis];
  return at;
}

std::string text_of(const std::array<Index, 4>& at) {
  std::ostringstream out;
  out << '[' << at[0] << ", " << at[1] << ", " << at[2] << ", " << at[3] << ']';
  return out.str();
}

/// Of O and dQ [B, N_q, H_q, d], and of the LSE [1, B, H_q, N_q]: has the query of this element an
/// LSE of −∞?
bool is_of_empty_row(const Expectation& expected, Output output, std::size_t index,
                     const std::array<Index, 4>& sizes) {
  const std::vector<double>& lse = expected.exact[Output::LSE];
  if (output == Output::LSE) return lse[index] == -infinity;
  if ((output != Output::O && output != Output::dQ) || lse.empty()) return false;
  const auto [b, token, h, channel] = coordinates(index, sizes);
  return lse[static_cast<std::size_t>((b * sizes[2] + h) * sizes[1] + token)] == -infinity;
}

/// Whether nothing that should be a number is one, and something should.
bool is_all_nan(const std::vector<double>& exact, const std::vector<double>& got) {
  bool any = false;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i])) continue;
    if (!std::isnan(got[i])) return false;
    any = true;
  }
  return any;
}

/// f where all of `got` is f times `exact`, to within its tolerances, and not 1 times: eight
/// elements or more are wrong. A forgotten scale, or a logarithm in base 2.
std::optional<double> common_factor(const std::vector<double>& exact,
                                    const std::vector<double>& got,
                                    const std::vector<double>& tolerance) {
  double along = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i])) continue;
    along += got[i] * exact[i];
    norm += exact[i] * exact[i];
  }
  if (!(norm > 0) || !std::isfinite(along)) return std::nullopt;
  const double factor = along / norm, room = std::max(1.0, std::abs(factor));
  int wrong = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i])) continue;
    if (!(std::abs(got[i] - factor * exact[i]) <= room * tolerance[i])) return std::nullopt;
    wrong += std::abs(got[i] - exact[i]) > tolerance[i];
  }
  return wrong >= 8 ? std::optional(factor) : std::nullopt;
}

}  // namespace

double Margins::largest() const {
  double most = gate1;
  for (const double used : {gate2.value_or(0), gate3.value_or(0)})
    if (!std::isnan(most) && !(used <= most)) most = used;
  return most;
}

bool Margins::pass() const {
  return gate1 <= 1 && gate2.value_or(0) <= 1 && gate3.value_or(0) <= 1;
}

Margins judge(const Expectation& expected, Output output, const std::array<Index, 4>& sizes,
              const std::vector<double>& got, const std::vector<char>& may_be_nan) {
  const std::vector<double>& exact = expected.exact[output];
  Margins margins;
  std::vector<double> error(exact.size());
  double squares = 0;
  bool is_finite = true;  // where the exact result is
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error[i] = got[i] == exact[i] ? 0 : got[i] - exact[i];
    squares += error[i] * error[i];
    if (!may_be_nan.empty() && may_be_nan[i] && !std::isfinite(got[i])) {
      is_finite = false;
      continue;
    }
    const double tolerance = expected.tolerance[output][i];
    const double used = fraction(got[i], exact[i], tolerance, output, expected.arithmetic.dtype);
    if (std::isinf(got[i]) && used == 0) is_finite = false;  // it may round to infinity
    if (std::isfinite(exact[i]) && !(std::abs(error[i]) <= margins.largest_error))
      margins.largest_error = std::abs(error[i]);
    if (i > 0 && !is_more(used, margins.gate1)) continue;
    margins.gate1 = used;
    margins.worst = {coordinates(i, sizes), got[i], exact[i], tolerance,
                     is_of_empty_row(expected, output, i, sizes)};
  }
  if (!(margins.gate1 <= 1)) {
    margins.is_all_nan = is_all_nan(exact, got);
    margins.factor = common_factor(exact, got, expected.tolerance[output]);
  }
  if (!is_finite) return margins;  // the other gates speak of finite outputs
  if (const auto limit = expected.rms_limit[output])
    margins.gate2 =
        std::sqrt(squares / static_cast<double>(exact.size())) / std::max(*limit, 1e-300);
  for (const Direction& direction : expected.directions) {
    if (direction.output != output) continue;
    double along = 0, norm = 0;
    for (std::size_t i = 0; i < error.size(); ++i) {
      along += error[i] * direction.G[i];
      norm += direction.G[i] * direction.G[i];
    }
    const double used = norm > 0 ? std::abs(along / norm) / direction.limit : 0;
    if (margins.gate3 && !is_more(used, *margins.gate3)) continue;
    margins.gate3 = used;
    margins.gate3_direction = direction.name;
  }
  return margins;
}

/// NaN has no sign worth telling.
double unsigned_nan(double x) {
  return std::isnan(x) ? std::abs(x) : x;
}

/// What most often is the cause where the distance is no number, or nothing.
std::string cause_of(const Margins& m) {
  const std::string zero_times = "0 times a hidden NaN or infinity is NaN";
  if (m.worst.of_empty_row)
    return ": this query sees no key, so that O and dQ are 0 and the LSE -inf";
  if (std::isnan(m.worst.expected))
    return ": what it sees makes it NaN, which std::max, fmax and comparisons may lose";
  if (!std::isnan(m.worst.got) || !std::isfinite(m.worst.expected)) return "";
  if (m.is_all_nan)
    return ", and all of it is NaN, as outputs are before the call: set what you add to; also, " +
           zero_times;
  return ": nothing that it sees is NaN, and " + zero_times;
}

/// What is wrong with the worst element; how far it is off only where that is a number.
std::string gate1_fault(const Margins& m) {
  std::ostringstream out;
  out.precision(9);
  out << " fails gate 1: element " << text_of(m.worst.at) << " is " << unsigned_nan(m.worst.got)
      << ", expected " << unsigned_nan(m.worst.expected);
  if (std::isfinite(m.gate1))
    out << " within " << m.worst.tolerance << " (off by " << m.gate1 << " times that)";
  else
    out << cause_of(m);
  out.precision(6);
  if (m.factor) out << "; all of it is " << *m.factor << " times what is expected";
  return out.str();
}

std::vector<std::string> faults_of(Output output, const Margins& m) {
  std::vector<std::string> faults;
  const std::string what(name(output));
  const auto say = [&](auto... parts) {
    std::ostringstream out;
    out.precision(9);
    ((out << what) << ... << parts);
    faults.push_back(out.str());
  };
  if (!(m.gate1 <= 1)) say(gate1_fault(m));
  // Gate 1 has told of a NaN already, and its element.
  const auto fails = [&](const std::optional<double>& gate) {
    return gate && !(*gate <= 1) && !(std::isnan(*gate) && !faults.empty());
  };
  if (fails(m.gate2))
    say(" fails gate 2: its root-mean-square error is ", *m.gate2, " times what roundings allow");
  if (fails(m.gate3))
    say(" fails gate 3: its error along ", m.gate3_direction, " is ", *m.gate3,
        " times what roundings allow");
  return faults;
}

}  // namespace flashbook::conformance
