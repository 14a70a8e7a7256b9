#pragma once

#include <algorithm>
#include <cmath>

struct Part {
  double m, l;
  double o[2];
};

inline Part merge(const Part& a, const Part& b) {
  // Right only if both parts have the same maximum. What must each be multiplied by?
  const double weight_a = 1, weight_b = 1;
  return {std::max(a.m, b.m),
          weight_a * a.l + weight_b * b.l,
          {weight_a * a.o[0] + weight_b * b.o[0], weight_a * a.o[1] + weight_b * b.o[1]}};
}
