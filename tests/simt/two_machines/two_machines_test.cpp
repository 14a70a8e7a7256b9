#include <doctest/doctest.h>

#include <cmath>

#include "sim/simt/half.hpp"
#include "tests/simt/two_machines/launchers.hpp"

using namespace flashbook;

namespace {

#ifdef FLASHBOOK_HAS_CUDA

float number(unsigned short bits) {
  return emulated::to_float(emulated::half{bits});
}

void compare_with_gpu(int N, const std::vector<unsigned short>& O, const std::vector<float>& lse) {
  std::vector<unsigned short> gpu_O;
  std::vector<float> gpu_lse;
  const LaunchStatus status = gpu::run_forward(N, gpu_O, gpu_lse);
  if (!gpu::is_present()) {
    CHECK(status.error.find("kernel mma_forward: ") == 0);
    MESSAGE("skipped: both kernels are in this program, and there is no GPU to run one");
    return;
  }
  CHECK(status.error == "");
  // Both round P and O to fp16; sums differ in their order, exp2 in its last bits.
  double error = 0, lse_error = 0;
  for (std::size_t i = 0; i < O.size(); ++i) {
    const double difference = std::abs(double{number(O[i])} - number(gpu_O[i]));
    error = difference <= error ? error : difference;  // NaN stays
  }
  for (std::size_t i = 0; i < lse.size(); ++i) {
    const double difference = std::abs(double{lse[i]} - gpu_lse[i]);
    lse_error = difference <= lse_error ? lse_error : difference;
  }
  CHECK(error <= 2e-3);
  CHECK(lse_error <= 1e-5);
}

#else

void compare_with_gpu(int, const std::vector<unsigned short>&, const std::vector<float>&) {
  MESSAGE("skipped: no nvcc, so this program has the emulated kernel alone");
}

#endif

}  // namespace

TEST_CASE("a kernel for both machines in one program gives the same on both") {
  const int N = 100;
  std::vector<unsigned short> O;
  std::vector<float> lse;
  const LaunchStatus status = emulated::run_forward(N, O, lse);
  CHECK(status.error == "");
  CHECK(std::isfinite(lse[99]));
  compare_with_gpu(N, O, lse);
}
