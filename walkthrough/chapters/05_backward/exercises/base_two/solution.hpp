#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

struct Softmax {
  std::vector<float> P;
  float lse;
};

/// P = softmax(scale · x) and its LSE, for the products x = q·k of one row.
inline Softmax softmax_of(const std::vector<float>& x, float scale) {
  constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
  const float c = scale * log2_e;
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const float m = scale > 0 ? *most : *least;  // of the largest score
  // The error of the folded form is half a unit in the last place of c·m.
  const bool folds = scale > 0 && std::abs(c * m) < 64;
  Softmax row = {x, 0};
  float l = 0;
  for (float& p : row.P) {
    p = std::exp2(folds ? std::fma(c, p, -c * m) : (scale * p - scale * m) * log2_e);
    l += p;
  }
  for (float& p : row.P) p /= l;
  row.lse = scale * m + std::log2(l) * ln_2;
  return row;
}
