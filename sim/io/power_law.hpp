#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace flashbook::io {

struct Sample {
  double x, y;  ///< both finite and > 0
};

/// y = coefficient · x^exponent, where it was found to hold.
struct PowerLaw {
  double exponent, coefficient;
  double residual;     ///< largest |y / (coefficient · x^exponent) − 1| of the samples
  double first, last;  ///< least and greatest x of the samples
  std::size_t samples;
};

/// Least squares on logarithms: the line through all samples, whether or not they lie on one.
/// Throws InputError unless x increases, x and y are finite and above 0, and there are 2 samples.
PowerLaw fit_power_law(std::span<const Sample> samples);

/// Fewer samples, or a shorter range, look straight whatever they come from.
inline constexpr std::size_t fewest_samples = 4;
inline constexpr double shortest_range = 4;  ///< last x / first x

/// The law of the longest run of neighbouring samples that lie on one line to within `tolerance`
/// (a residual) and are enough to tell; of equally long runs the straightest. None if there is no
/// such run. Throws InputError as fit_power_law does, but for too few samples.
std::optional<PowerLaw> longest_power_law(std::span<const Sample> samples, double tolerance);

}  // namespace flashbook::io
