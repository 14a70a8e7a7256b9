#include "sim/io/power_law.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::io {
namespace {

void check(std::span<const Sample> samples) {
  double before = 0;
  for (const auto& [x, y] : samples) {
    if (!(x > before && std::isfinite(x) && y > 0 && std::isfinite(y))) {
      std::ostringstream out;
      out << "samples hold (" << x << ", " << y
          << "): x must increase, and both must be finite and above 0 to have logarithms";
      throw InputError(out.str());
    }
    before = x;
  }
}

PowerLaw fit(std::span<const Sample> samples) {
  const double count = static_cast<double>(samples.size());
  double mean_x = 0, mean_y = 0;
  for (const auto& [x, y] : samples) {
    mean_x += std::log(x) / count;
    mean_y += std::log(y) / count;
  }
  double covariance = 0, variance = 0;
  for (const auto& [x, y] : samples) {
    covariance += (std::log(x) - mean_x) * (std::log(y) - mean_y);
    variance += (std::log(x) - mean_x) * (std::log(x) - mean_x);
  }
  const double exponent = covariance / variance, offset = mean_y - exponent * mean_x;
  double residual = 0;
  for (const auto& [x, y] : samples)
    residual =
        std::max(residual, std::abs(std::expm1(std::log(y) - offset - exponent * std::log(x))));
  return {exponent,          std::exp(offset), residual,
          samples.front().x, samples.back().x, samples.size()};
}

}  // namespace

PowerLaw fit_power_law(std::span<const Sample> samples) {
  if (samples.size() < 2)
    throw InputError("samples are " + std::to_string(samples.size()) +
                     ": a line needs at least 2; pass more");
  check(samples);
  return fit(samples);
}

std::optional<PowerLaw> longest_power_law(std::span<const Sample> samples, double tolerance) {
  check(samples);
  for (std::size_t length = samples.size(); length >= fewest_samples; --length) {
    std::optional<PowerLaw> straightest;
    for (std::size_t first = 0; first + length <= samples.size(); ++first) {
      const PowerLaw law = fit(samples.subspan(first, length));
      const bool holds = law.residual <= tolerance && law.last >= shortest_range * law.first;
      if (holds && (!straightest || law.residual < straightest->residual)) straightest = law;
    }
    if (straightest) return straightest;
  }
  return std::nullopt;
}

}  // namespace flashbook::io
