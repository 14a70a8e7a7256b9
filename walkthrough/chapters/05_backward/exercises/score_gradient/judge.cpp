#include <algorithm>
#include <limits>
#include <numeric>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

using namespace flashbook;

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// One row, whose keys are as the numbers below say.
struct Attention {
  Row s;
  std::vector<Row> V;
  Row dO;

  double lse() const {
    const double m = *std::max_element(s.begin(), s.end());
    double l = 0;
    for (const double x : s) l += std::exp(x - m);
    return m + std::log(l);
  }
  Row output() const {
    Row O(dO.size());
    for (std::size_t j = 0; j < s.size(); ++j)
      for (std::size_t c = 0; c < O.size(); ++c) O[c] += std::exp(s[j] - lse()) * V[j][c];
    return O;
  }
  double loss() const { return dot(dO, output()); }
};

Attention example(std::size_t keys, std::size_t channels, double size) {
  Attention row;
  for (std::size_t j = 0; j < keys; ++j) {
    const double x = static_cast<double>(j);
    row.s.push_back(size * std::sin(3 * x + 1));
    row.V.emplace_back();
    for (std::size_t c = 0; c < channels; ++c)
      row.V[j].push_back(std::cos(5 * x + 2 * static_cast<double>(c)));
  }
  for (std::size_t c = 0; c < channels; ++c)
    row.dO.push_back(1 + std::sin(7 * static_cast<double>(c)));
  return row;
}

/// dL/ds_j by a central difference. A hidden key stays hidden.
double difference(Attention row, std::size_t j) {
  constexpr double step = 1e-5;
  if (row.s[j] == minus_infinity) return 0;
  row.s[j] += step;
  const double above = row.loss();
  row.s[j] -= 2 * step;
  return (above - row.loss()) / (2 * step);
}

void examine(book::Judge& judge, const std::string& what, const Attention& row) {
  const Row dS = score_gradient(row.s, row.lse(), row.V, row.output(), row.dO);
  judge.equal(what + ": the length of dS", dS.size(), row.s.size());
  if (dS.size() != row.s.size()) return;
  for (std::size_t j = 0; j < dS.size(); ++j)
    judge.close(what + ": dS of key " + std::to_string(j), dS[j], difference(row, j), 1e-7);
  // The same added to all scores of a row changes nothing.
  judge.close(what + ": the sum of dS", std::accumulate(dS.begin(), dS.end(), 0.), 0, 1e-9);
}

}  // namespace

int main() {
  Attention hidden = example(6, 3, 2);
  hidden.s[1] = hidden.s[4] = minus_infinity;
  book::Judge judge;
  examine(judge, "3 keys", example(3, 4, 1));
  examine(judge, "one key", example(1, 4, 1));
  examine(judge, "scores up to 30", example(9, 2, 30));
  examine(judge, "2 of 6 keys hidden", hidden);
  return judge.verdict();
}
