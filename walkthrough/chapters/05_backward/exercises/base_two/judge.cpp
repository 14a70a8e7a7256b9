#include <vector>

#include "walkthrough/chapters/judge.hpp"

namespace {

using Numbers = std::vector<float>;

/// LSE of scale · x, in double and with e^x.
double lse_of(const Numbers& x, float scale) {
  double m = static_cast<double>(scale) * x[0];
  for (const float each : x) m = std::max(m, static_cast<double>(scale) * each);
  double l = 0;
  for (const float each : x) l += std::exp(static_cast<double>(scale) * each - m);
  return m + std::log(l);
}

double weight_of(float x, float scale, double lse) {
  return std::exp(static_cast<double>(scale) * x - lse);
}

}  // namespace

// What a GPU does not have, the answer does not compile with.
#pragma GCC poison exp expf expm1 log logf log1p log10 pow powf
#include "answer.hpp"

namespace {

using flashbook::book::Judge;

void examine(Judge& judge, const std::string& what, const Numbers& x, float scale) {
  constexpr double log2_e = 1.4426950408889634;
  const Softmax row = softmax_of(x, scale);
  const double lse = lse_of(x, scale);
  judge.equal(what + ": the length of P", row.P.size(), x.size());
  for (std::size_t j = 0; j < std::min(x.size(), row.P.size()); ++j)
    judge.close(what + ": the weight of key " + std::to_string(j), row.P[j],
                weight_of(x[j], scale, lse), 1e-5);
  const bool in_base_two = std::abs(row.lse - lse * log2_e) <= 1e-4 * std::abs(lse);
  judge.close(what + (in_base_two ? ": the LSE (in base 2)" : ": the LSE"), row.lse, lse, 1e-5);
}

}  // namespace

int main() {
  Judge judge;
  examine(judge, "4 keys", {1.5f, -2, 0.25f, 3}, 0.5f);
  examine(judge, "scores near 100", {200, 199, 203}, 0.5f);
  examine(judge, "a negative scale", {-800, -799, 900}, -0.25f);
  examine(judge, "equal scores near 1e6", {3.1e6f, 3.1e6f}, 0.3f);
  examine(judge, "a lone key of score 1e10", {1.3e10f}, 0.77f);
  return judge.verdict();
}
