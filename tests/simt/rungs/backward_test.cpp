#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/backward/kernels.hpp"
#include "sim/simt/launch.hpp"

// What the suite cannot ask of the backward rungs: rows that are empty by arithmetic and hold NaN,
// offsets beyond 32 bits.

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

/// Room for n floats, of which the system provides only what is touched.
class Sparse {
 public:
  explicit Sparse(std::size_t n) : bytes_(n * sizeof(float)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(data_ != MAP_FAILED);
  }
  ~Sparse() { munmap(data_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  float* data() { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

TEST_CASE("elements that lie more than 2^32 apart") {
  constexpr std::int64_t stride = (std::int64_t{1} << 32) + 4;
  flashbook_problem problem = dense_problem(1, 1, 1, 2, 2, 1, 1);
  problem.scale = 1;
  problem.q.token = problem.k.token = problem.v.token = problem.grad_o.token = stride;
  problem.grad_q.token = problem.grad_k.token = problem.grad_v.token = stride;
  Sparse Q(stride + 1), K(stride + 1), V(stride + 1), dO(stride + 1), dQ(stride + 1),
      dK(stride + 1), dV(stride + 1);
  // Row 1 sees both keys equally; dO of row 0 is 0.
  K.data()[0] = 1, K.data()[stride] = 3, V.data()[stride] = 2, dO.data()[stride] = 1;
  const float ln_2 = std::log(2.f);
  const std::vector<float> O = {1, 1}, lse = {ln_2, ln_2};
  for (const BackwardKernel* rung : rungs) {
    CAPTURE(rung->name);
    run(*rung, problem,
        {Q.data(), K.data(), V.data(), O.data(), lse.data(), dO.data(), nullptr, dQ.data(),
         dK.data(), dV.data()});
    CHECK(dQ.data()[stride] == doctest::Approx(1));  // dS = (-1/2, 1/2)
    CHECK(dV.data()[0] == doctest::Approx(0.5));
    CHECK(dV.data()[stride] == doctest::Approx(0.5));
    CHECK(dK.data()[stride] == 0);
  }
}

}  // namespace
}  // namespace flashbook
