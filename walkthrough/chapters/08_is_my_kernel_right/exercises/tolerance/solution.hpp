#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

using Values = std::vector<double>;

/// The error, 0 where both are the same infinity; NaN where one is not a number.
inline double error(double got, double exact) {
  return got == exact ? 0 : got - exact;
}

inline bool is_right(const Values& got, const Values& exact, const Values& tolerance,
                     const Values& ideal_errors) {
  double square = 0, ideal_square = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = error(got[i], exact[i]);
    if (!(std::abs(e) <= tolerance[i])) return false;  // so that NaN fails
    square += e * e;
    ideal_square += ideal_errors[i] * ideal_errors[i];
  }
  return std::sqrt(square) <= 1.5 * std::sqrt(ideal_square);
}
