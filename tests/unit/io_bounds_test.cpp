// Closed forms of long sequences, the fitting blocks, and the bounds on traffic.
#include <doctest/doctest.h>

#include <ctime>
#include <limits>
#include <string>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Elements that the best-tiled FA2 forward moves with an SRAM of m fp32 elements.
double best_fa2(double n, double d, double m) {
  const auto size = static_cast<Index>(n), channels = static_cast<Index>(d);
  const AttentionProblem problem(dense_problem(1, 1, 1, size, size, channels, channels));
  const Algorithm& forward = find_algorithm("fa2_forward");
  const Report best =
      closed_form(forward, problem, {best_blocks(forward, problem, static_cast<Index>(4 * m))});
  return static_cast<double>(best.matrix_reads() + best.matrix_writes());
}

}  // namespace

TEST_CASE("closed forms answer at once for a million tokens") {
  flashbook_problem p = dense_problem(1, 1, 1, 1000000, 1000000, 64, 64);
  p.causal = 1;
  const AttentionProblem problem(p);
  // The best of several in processor time: other processes and first touches do not count.
  double seconds = infinity;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::clock_t start = std::clock();
    const Report report = closed_form(find_algorithm("three_kernel_backward"), problem, {{64, 64}});
    seconds = std::min(seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    CHECK(report.visited_tiles == 2 * (15625LL * 15626 / 2));
  }
  CHECK(seconds < 0.2);
}

TEST_CASE("an SRAM too small for any block is refused, naming the least that works") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 64, 64, 64, 64));
  const Algorithm& forward = find_algorithm("fa2_forward");
  const Index least = 4 * (4 * 64 + 3);  // one row of Q, O, K, V; m, l and one element of S
  CHECK(best_blocks(forward, problem, least) == Blocks{1, 1});
  CHECK_THROWS_WITH_AS(best_blocks(forward, problem, least - 1),
                       doctest::Contains(std::to_string(least).c_str()), InputError);
}

TEST_CASE("an unknown algorithm is refused with the list of names") {
  CHECK_THROWS_WITH_AS(find_algorithm("fa9"), doctest::Contains("three_kernel_backward"),
                       InputError);
}

TEST_CASE("bounds") {
  const double n = 4096, d = 64;
  CHECK(forward_lower_bound({n, d, 1e9}) == 4 * n * d);
  CHECK(forward_lower_bound({n, d, d * d}) == doctest::Approx(n * n / 5 - d * d));
  CHECK(flash_order({n, d, d * d}) == doctest::Approx(n * n));
  CHECK(square_tiling({n, d, 3}) == infinity);
  // No blocks of the FA2 forward move less than the bound allows.
  const AttentionProblem problem(dense_problem(1, 1, 1, 4096, 4096, 64, 64));
  const Algorithm& forward = find_algorithm("fa2_forward");
  for (const Index sram : {4000, 16384, 65536, 262144, 1 << 20}) {
    const Report best = closed_form(forward, problem, {best_blocks(forward, problem, sram)});
    const double moved = static_cast<double>(best.matrix_reads() + best.matrix_writes());
    CHECK(moved >= forward_lower_bound({n, d, static_cast<double>(sram) / 4}));
  }
}

TEST_CASE("square tiling moves less than FA2 below about a quarter of d², and more above") {
  const double n = 4096, d = 128;
  CHECK(square_tiling({n, d, 0.20 * d * d}) < best_fa2(n, d, 0.20 * d * d));
  CHECK(square_tiling({n, d, 0.28 * d * d}) > best_fa2(n, d, 0.28 * d * d));
}

TEST_CASE("the best-tiled FA2 forward moves 4.15 N²d²/M at d = 64, M = 64 KB") {
  const double n = 8192, d = 64, m = 16384;
  CHECK(best_fa2(n, d, m) == doctest::Approx(4.15 * flash_order({n, d, m})).epsilon(0.1));
}
