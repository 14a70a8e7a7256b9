#include <cmath>
#include <cstdio>

#include "cpu_reference/standard.hpp"

// One query against two keys, by hand: q = 1, k = (0, ln 3), scale 1, so the scores are 0 and ln 3,
// the probabilities 1/4 and 3/4, and with v = (0, 4) the output is 3 and the LSE ln 4.
int main() {
  flashbook_problem fields = flashbook::dense_problem(1, 1, 1, 1, 2, 1, 1);
  fields.dtype = FLASHBOOK_FP64;
  const double q[] = {1}, k[] = {0, std::log(3.0)}, v[] = {0, 4};
  flashbook::Inputs inputs = {};
  inputs.q = q;
  inputs.k = k;
  inputs.v = v;

  double o = 0, lse = 0;
  flashbook::Oracle().forward(flashbook::AttentionProblem(fields), inputs, {&o, &lse});

  std::printf("O = %.15g (3), LSE = %.15g (ln 4)\n", o, lse);
  const bool ok = std::abs(o - 3) <= 1e-15 && std::abs(lse - std::log(4.0)) <= 1e-15;
  return ok ? 0 : 1;
}
