#include <doctest/doctest.h>

#include <cmath>

#include "sim/simt/half.hpp"
#include "tests/simt/two_machines/launchers.hpp"

using namespace flashbook;

namespace {

float number(unsigned short bits) {
  return emulated::to_float(emulated::half{bits});
}

}  // namespace

TEST_CASE("a kernel for both machines in one program gives the same on both") {
  const int N = 100;
  std::vector<unsigned short> O;
  std::vector<float> lse;
  const LaunchStatus status = emulated::run_forward(N, O, lse);
  CHECK(status.error == "");
  CHECK(std::isfinite(lse[99]));

#ifdef FLASHBOOK_HAS_CUDA
  std::vector<unsigned short> gpu_O;
  std::vector<float> gpu_lse;
  if (!gpu::is_present()) {
    CHECK(gpu::run_forward(N, gpu_O, gpu_lse).error.find("kernel mma_forward: ") == 0);
    MESSAGE("skipped: both kernels are in this program, and there is no GPU to run one");
    return;
  }
  CHECK(gpu::run_forward(N, gpu_O, gpu_lse).error == "");
  // Both round P and O to fp16; sums differ in their order, exp2 in its last bits.
  double error = 0;
  for (std::size_t i = 0; i < O.size(); ++i)
    error = std::fmax(error, std::abs(double{number(O[i])} - number(gpu_O[i])));
  CHECK(error <= 2e-3);
  double lse_error = 0;
  for (std::size_t i = 0; i < lse.size(); ++i)
    lse_error = std::fmax(lse_error, std::abs(double{lse[i]} - gpu_lse[i]));
  CHECK(lse_error <= 1e-5);
#else
  MESSAGE("skipped: no nvcc, so this program has the emulated kernel alone");
#endif
}
