#pragma once

#include <algorithm>
#include <cmath>

struct Part {
  double m, l;
  double o[2];
};

/// e^(m_old − m), what a sum is multiplied by when the maximum rises from m_old to m. A part that
/// has seen no key has nothing to multiply, and −∞ − −∞ would be NaN.
inline double rescale(double m_old, double m) {
  return std::isinf(m_old) ? 0 : std::exp(m_old - m);
}

inline Part merge(const Part& a, const Part& b) {
  const double m = std::max(a.m, b.m);
  const double weight_a = rescale(a.m, m), weight_b = rescale(b.m, m);
  return {m,
          weight_a * a.l + weight_b * b.l,
          {weight_a * a.o[0] + weight_b * b.o[0], weight_a * a.o[1] + weight_b * b.o[1]}};
}
