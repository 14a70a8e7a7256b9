#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

/// A row on its way. `o` is not yet divided by `l`; a key's value is one number here.
struct Row {
  double m = -10000;  // lower than any score
  double l = 0;
  double o = 0;
};

/// scores and values of one tile's keys; a hidden key's score is −∞.
inline void take_in(Row& row, const std::vector<double>& scores,
                    const std::vector<double>& values) {
  const double m_old = row.m;
  for (const double s : scores) row.m = std::max(row.m, s);

  // O = diag(e^(m_old − m))⁻¹ O + P V
  const double alpha = std::exp(m_old - row.m);
  row.l = alpha * row.l;
  if (row.l > 0) row.o = row.o / alpha;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::exp(scores[j] - row.m);
    row.l += weight;
    row.o += weight * values[j];
  }
}
