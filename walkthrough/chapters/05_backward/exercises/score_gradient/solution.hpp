#pragma once

#include <cmath>
#include <vector>

using Row = std::vector<double>;

inline double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// dS of one row, [N_k], from its scores s [N_k], their LSE, V [N_k, d_v], O and dO [d_v].
inline Row score_gradient(const Row& s, double lse, const std::vector<Row>& V, const Row& O,
                          const Row& dO) {
  const double delta = dot(dO, O);
  Row dS(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) {
    const double P = std::exp(s[j] - lse);
    dS[j] = P * (dot(dO, V[j]) - delta);
  }
  return dS;
}
