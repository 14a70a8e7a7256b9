#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/backward/kernels.hpp"
#include "sim/simt/launch.hpp"

// What the suite cannot ask of the backward rungs: rows that are empty by arithmetic and hold NaN.

namespace flashbook {
namespace {

const auto rungs = {&emulated::standard_backward, &emulated::three_kernel_backward};

/// Runs a rung; the tensors are [N_q or N_k, d], of one head, contiguous.
void run(const BackwardKernel& rung, const flashbook_problem& problem,
         const BackwardTensors& tensors) {
  std::vector<float> workspace(rung.workspace_bytes(problem) / sizeof(float) + 1);
  simt::Stream stream;
  const LaunchStatus status = rung.launch(problem, tensors, workspace.data(), &stream);
  CHECK(status.error == "");
}

TEST_CASE("a row that is empty by arithmetic adds nothing, whatever it holds") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  // All scores of row 0 are -inf. Row 1 is an ordinary row.
  const std::vector<float> Q = {-inf, 0, 1, 2}, K = {1, 0, 2, 1}, V = {1, 2, 3, 4},
                           dO = {nan, nan, 1, -1}, dlse = {nan, 0.5f};
  const double s_0 = 1, s_1 = 4, lse = s_1 + std::log1p(std::exp(s_0 - s_1));
  const float P = static_cast<float>(std::exp(s_0 - lse));  // of key 0
  const std::vector<float> O = {nan, nan, 3 - 2 * P, 4 - 2 * P},
                           lses = {-inf, static_cast<float>(lse)};
  flashbook_problem problem = dense_problem(1, 1, 1, 2, 2, 2, 2);
  problem.scale = 1;
  problem.has_dlse = 1;
  for (const BackwardKernel* rung : rungs) {
    CAPTURE(rung->name);
    std::vector<float> dQ(4, nan), dK(4, nan), dV(4, nan);
    run(*rung, problem,
        {Q.data(), K.data(), V.data(), O.data(), lses.data(), dO.data(), dlse.data(), dQ.data(),
         dK.data(), dV.data()});
    // dP = (-1, -1), so D = -1.5 and dS = 0.5 P
    const float dS_0 = 0.5f * P, dS_1 = 0.5f * (1 - P);
    const std::vector<float> want_dQ = {0, 0, dS_0 + 2 * dS_1, dS_1},
                             want_dK = {dS_0, 2 * dS_0, dS_1, 2 * dS_1},
                             want_dV = {P, -P, 1 - P, P - 1};
    for (std::size_t e = 0; e < 4; ++e) {
      CHECK(dQ[e] == doctest::Approx(want_dQ[e]));
      CHECK(dK[e] == doctest::Approx(want_dK[e]));
      CHECK(dV[e] == doctest::Approx(want_dV[e]));
    }
  }
}

}  // namespace
}  // namespace flashbook
