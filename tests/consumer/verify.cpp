#include <cstdio>

#include "sim/io/implementations.hpp"
#include "tests/conformance/suite.hpp"

// Has the suite judge an implementation on a user's tensors: one head, 3 queries, 5 keys, d = 2.
int main() {
  const float q[] = {1, 0, 0, 1, -1, 2};
  const float k[] = {3, 1, 5, 0, 10, 2, 2, 1, -4, 0};
  const float v[] = {1, 0, 0, 1, 2, 2, -1, 3, 0, 5};
  flashbook::Inputs inputs = {};
  inputs.q = q;
  inputs.k = k;
  inputs.v = v;

  const flashbook::AttentionProblem problem(flashbook::dense_problem(1, 1, 1, 3, 5, 2, 2));
  const auto report = flashbook::conformance::verify_tensors(
      flashbook::io::Blocked("io.fa2", {{2, 2}}), "mine", problem, inputs, 1);

  for (const auto& reason : report.reasons) std::printf("%s\n", reason.c_str());
  const bool ok = report.status == flashbook::conformance::Status::passed;
  std::printf("%s: %zu outputs judged, %s\n", report.implementation.c_str(), report.outputs.size(),
              ok ? "passed" : "not passed");
  return ok && report.outputs.size() == 5 ? 0 : 1;  // O, LSE, dQ, dK, dV
}
