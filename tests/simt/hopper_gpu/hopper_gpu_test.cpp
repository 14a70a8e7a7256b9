#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "tests/simt/hopper_gpu/launchers.hpp"
#include "tests/simt/hopper_runs.hpp"

// The test kernels for Hopper GPUs on one, against the same doubles as on the emulator.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

std::vector<std::uint16_t> bits_of(Numbers<half>& x, int n) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(n));
  std::memcpy(bits.data(), x.data(), bits.size() * 2);
  return bits;
}

bool is_forward_right(int d, int N_q, int N_k) {
  const auto size = [&](int N) { return static_cast<std::size_t>(N * d); };
  Numbers<half> Q(size(N_q), 1), K(size(N_k), 2), V(size(N_k), 3), O(size(N_q));
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  std::vector<std::uint16_t> O_bits = bits_of(O, N_q * d);  // NaN
  std::vector<float> lse_numbers(lse.data(), lse.data() + N_q);
  const LaunchStatus status =
      gpu::run_hopper_forward(d, bits_of(Q, N_q * d), bits_of(K, N_k * d), bits_of(V, N_k * d),
                              0.125f, O_bits, lse_numbers);
  CHECK(status.error == "");
  std::memcpy(O.data(), O_bits.data(), O_bits.size() * 2);
  std::copy(lse_numbers.begin(), lse_numbers.end(), lse.data());
  return is_attention(Q, K, V, O, lse, N_q, N_k, d, 0.125f, 2e-3);
}

bool is_here() {
  if (gpu::is_hopper_present()) return true;
  MESSAGE("skipped: no Hopper GPU is here");
  return false;
}

}  // namespace

TEST_CASE("hopper_forward on a GPU, whole and ragged tiles") {
  if (!is_here()) return;
  for (const int d : {64, 128})
    for (const auto& [N_q, N_k] : {std::pair(128, 192), {1, 1}, {130, 327}, {1000, 777}})
      CHECK(is_forward_right(d, N_q, N_k));
}

TEST_CASE("cluster_ring on a GPU") {
  if (!is_here()) return;
  const int n = 7, columns = 32, rows = 16;
  Numbers<float> x(n * rows * columns, 1);
  std::vector<float> y(2 * n * columns, std::nanf(""));
  const std::vector<float> numbers(x.data(), x.data() + n * rows * columns);
  CHECK(gpu::run_cluster_ring(numbers, n, y).error == "");
  bool right = true;
  for (int i = 0; i < 2 * n * columns; ++i) {
    double sum = 0;
    for (int row = 0; row < rows; ++row)
      sum += x[(i / columns % n * rows + row) * columns + i % columns];
    right = right && std::abs(y[static_cast<std::size_t>(i)] - sum) <= 1e-5;
  }
  CHECK(right);
}
