#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

/// A row on its way. `o` is not yet divided by `l`; a key's value is one number here.
struct Row {
  double m = -std::numeric_limits<double>::infinity();  // of no keys
  double l = 0;
  double o = 0;
};

/// scores and values of one tile's keys; a hidden key's score is −∞.
inline void take_in(Row& row, const std::vector<double>& scores,
                    const std::vector<double>& values) {
  const double m_old = row.m;
  for (const double s : scores) row.m = std::max(row.m, s);
  const double shift = std::isinf(row.m) ? 0 : row.m;  // −∞ − −∞ is NaN; e^(−∞ − 0) is 0

  // O = diag(e^(m_old − m)) O + P V
  const double alpha = std::exp(m_old - shift);
  row.l = alpha * row.l;
  row.o = alpha * row.o;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::exp(scores[j] - shift);
    row.l += weight;
    row.o += weight * values[j];
  }
}
