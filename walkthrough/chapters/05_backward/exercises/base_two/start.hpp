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
  const float c = scale * 1.44269504f;  // scale · log2 e
  const float m = *std::max_element(x.begin(), x.end());
  Softmax row = {x, 0};
  float l = 0;
  for (float& p : row.P) {
    p = std::exp2(std::fma(c, p, -c * m));
    l += p;
  }
  for (float& p : row.P) p /= l;
  row.lse = c * m + std::log2(l);
  return row;
}
