// Bounds, best tilings, where they cross, and the laws that counts follow.
#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "cpu_reference/error.hpp"
#include "io_runs.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/power_law.hpp"
#include "sim/io/tilings.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Index large = 1'000'000;

const Algorithm& fa1() {
  return find_algorithm("fa1_forward");
}
const Algorithm& fa2() {
  return find_algorithm("fa2_forward");
}

double in_units_of_flash(Index elements, Index n, Index d, Index m) {
  return static_cast<double>(elements) /
         flash_order({static_cast<double>(n), static_cast<double>(d), static_cast<double>(m)});
}

/// Square tiling, tile by tile: every operand of every product is walked.
double square_tiling_by_walking(Index n, Index d, Index B) {
  const auto side = [&](Index i, Index length) { return std::min(B, length - i); };
  Index elements = 2 * n * n;  // softmax: S in, P out
  for (Index i = 0; i < n; i += B)
    for (Index j = 0; j < n; j += B) {
      for (Index c = 0; c < d; c += B)  // a tile of Q and one of K to a tile of S
        elements += side(i, n) * side(c, d) + side(j, n) * side(c, d);
      elements += side(i, n) * side(j, n);
    }
  for (Index i = 0; i < n; i += B)
    for (Index c = 0; c < d; c += B) {
      for (Index j = 0; j < n; j += B)  // a tile of P and one of V to a tile of O
        elements += side(i, n) * side(j, n) + side(j, n) * side(c, d);
      elements += side(i, n) * side(c, d);
    }
  return static_cast<double>(elements);
}

std::vector<Sample> samples_of(double (*y)(double), double from, double factor, int count) {
  std::vector<Sample> samples;
  for (double x = from; count > 0; --count, x *= factor) samples.push_back({x, y(x)});
  return samples;
}

}  // namespace

TEST_CASE(
    "power law: exponent, coefficient and range of an exact one; the residual of one that is not") {
  const PowerLaw law = fit_power_law(samples_of([](double x) { return 3 / (x * x); }, 2, 1.5, 7));
  CHECK(law.exponent == doctest::Approx(-2).epsilon(1e-12));
  CHECK(law.coefficient == doctest::Approx(3).epsilon(1e-12));
  CHECK(law.residual <= 1e-12);
  CHECK(law.first == 2);
  CHECK(law.last == doctest::Approx(2 * std::pow(1.5, 6)).epsilon(1e-12));
  CHECK(law.samples == 7);
  // By hand: logarithms to base 2 (0, 0), (1, 1), (2, 1): slope 1/2, the line at 1/6, 4/6, 7/6.
  const std::vector<Sample> bent = {{1, 1}, {2, 2}, {4, 2}};
  CHECK(fit_power_law(bent).exponent == doctest::Approx(.5).epsilon(1e-12));
  CHECK(fit_power_law(bent).residual == doctest::Approx(std::exp2(1. / 3) - 1).epsilon(1e-12));
}

TEST_CASE(
    "power law: the longest straight run, and none where nothing is straight or long enough") {
  const auto kinked = samples_of([](double x) { return x < 100 ? 50 / x : .5; }, 1, 2, 12);
  const auto law = longest_power_law(kinked, .01);
  REQUIRE(law);
  CHECK(law->first == 1);
  CHECK(law->last == 64);
  CHECK(law->samples == 7);
  CHECK(law->exponent == doctest::Approx(-1).epsilon(1e-12));
  CHECK_FALSE(longest_power_law(samples_of([](double x) { return std::exp(x); }, 1, 2, 10), .02));
  const auto straight = [](double x) { return x; };
  CHECK_FALSE(longest_power_law(samples_of(straight, 1, 1.5, 4), .01));  // a factor of 3.4
  CHECK(longest_power_law(samples_of(straight, 1, 1.6, 4), .01));
  CHECK_FALSE(longest_power_law(samples_of(straight, 1, 9, 3), .01));  // 3 samples
  CHECK_FALSE(longest_power_law({}, .01));
}

TEST_CASE("power law: samples without logarithms, out of order or too few are refused") {
  const double nan = std::nan("");
  using Samples = std::vector<Sample>;
  for (const Samples& bad :
       {Samples{{1, 1}, {2, 0}}, Samples{{1, 1}, {2, -1}}, Samples{{0, 1}, {1, 1}},
        Samples{{1, 1}, {1, 2}}, Samples{{2, 1}, {1, 1}}, Samples{{1, nan}, {2, 1}},
        Samples{{nan, 1}, {2, 1}}, Samples{{1, 1}, {infinite, 1}}}) {
    CHECK_THROWS_WITH_AS(fit_power_law(bad), doctest::Contains("samples hold"), InputError);
    CHECK_THROWS_WITH_AS(longest_power_law(bad, .1), doctest::Contains("samples hold"), InputError);
  }
  CHECK_THROWS_WITH_AS(fit_power_law(Samples{{1, 1}}), doctest::Contains("at least 2"), InputError);
}

TEST_CASE("turns: where a statement begins to hold, and from where on it always does") {
  const auto from_700 = turn_of(1, 5000, [](Index x) { return x >= 700; });
  REQUIRE(from_700);
  CHECK(from_700->first == 700);
  CHECK(from_700->always == 700);
  const auto with_gap =
      turn_of(1, 5000, [](Index x) { return x >= 700 && !(x >= 900 && x < 1000); });
  REQUIRE(with_gap);
  CHECK(with_gap->first == 700);
  CHECK(with_gap->always == 1000);
  CHECK_FALSE(turn_of(1, 5000, [](Index) { return true; }));
  CHECK_FALSE(turn_of(1, 5000, [](Index) { return false; }));
  CHECK_FALSE(turn_of(1, 5000, [](Index x) { return x < 700; }));
}

TEST_CASE("square tiling: the formula is what walking its tiles counts") {
  for (const Index n : {1, 7, 8, 30})
    for (const Index d : {1, 3, 8, 13})
      for (const Index m : {4, 15, 16, 64, 100, 1024}) {
        const Index B = static_cast<Index>(std::sqrt(static_cast<double>(m) / 4));
        CAPTURE(n);
        CAPTURE(d);
        CAPTURE(m);
        const Shape shape = {static_cast<double>(n), static_cast<double>(d),
                             static_cast<double>(m)};
        CHECK(square_tiling(shape) == square_tiling_by_walking(n, d, B));
        if (n % B == 0 && d % B == 0) CHECK(square_tiling_undivided(shape) == square_tiling(shape));
      }
  CHECK(square_tiling({8, 8, 3}) == infinite);
  CHECK(square_tiling_undivided({8, 8, 3}) == infinite);
}

TEST_CASE("bounds: in units of N²d²/M, 0.2 at M = d² rising to 1; never below what must move") {
  const double n = large, d = 64;
  const auto coefficient = [&](double m) {
    return forward_lower_bound({n, d, m}) / flash_order({n, d, m});
  };
  CHECK(coefficient(d * d) == doctest::Approx(.2).epsilon(1e-4));
  CHECK(coefficient(100 * d * d) == doctest::Approx(100. / 104).epsilon(.01));
  for (double m = d; m < 1e5; m *= 2) CHECK(coefficient(2 * m) >= coefficient(m));
  for (const double m : {64., 4096., 1e9}) {
    CHECK(forward_lower_bound({n, d, m}) >= compulsory({n, d, m}, false));
    CHECK(compulsory({n, d, m}, true) == 2 * compulsory({n, d, m}, false));
  }
  CHECK(forward_lower_bound({n, d, n * n}) == 4 * n * d);
}

TEST_CASE("counts fit 64 bits at the largest sizes accepted; larger ones are refused by name") {
  for (const Index d : {1, 64}) {
    CAPTURE(d);
    const double pairs = 0x1p62 / (4 * (5 * static_cast<double>(d) + 2));
    const Index most = static_cast<Index>(std::sqrt(pairs)) - 1;
    const std::string named = "--n is " + std::to_string(most + 3);
    CHECK_NOTHROW(check_countable("--n", most, d, 1));
    CHECK_THROWS_WITH_AS(check_countable("--n", most + 3, d, 1), doctest::Contains(named.c_str()),
                         InputError);
    CHECK_THROWS_AS(check_countable("--n", most, d, 2), InputError);
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(std::string(algorithm.name));
      const Report report = closed_form(algorithm, testing::square(most, d, false), {{1, 1}});
      // In floating point the sum cannot wrap: what the integers say must be near it.
      double bytes = 0;
      for (const TensorTraffic& t : report.tensors)
        bytes += static_cast<double>(t.element_bytes) *
                 (static_cast<double>(t.counts.reads) + static_cast<double>(t.counts.writes) +
                  2 * static_cast<double>(t.counts.atomic_updates));
      CHECK(bytes <= 0x1p63);
      CHECK(static_cast<double>(report.bytes_read() + report.bytes_written()) ==
            doctest::Approx(bytes).epsilon(1e-9));
      CHECK(report.flops_executed > 0);
    }
  }
}

TEST_CASE("bounds: the backward optimum is square tiling's below M = d² and flash's above") {
  for (const double d : {32., 64., 128.}) {
    const double n = large;
    CHECK(flash_order({n, d, d * d}) == n * n);
    const auto flash = [&](double m) { return (n * n * d * d + n * d * d * d) / m; };
    const auto tiled = [&](double m) { return (n * n * d + n * d * d) / std::sqrt(m); };
    for (const double m : {d * d / 2, 2 * d * d}) {
      const double order = optimal_backward_order({n, d, m});
      CHECK(order == doctest::Approx(m < d * d ? tiled(m) : flash(m)).epsilon(1e-12));
      CHECK(order < (m < d * d ? flash(m) : tiled(m)));
    }
    CHECK(tiled(d * d) == doctest::Approx(flash(d * d)).epsilon(1e-12));
  }
}

TEST_CASE(
    "coefficients of N²d²/M at d = 64: FA1 12.25 with the paper's blocks, 6.2 best; FA2 4.15") {
  const Index d = 64, M = 4 * d * d, B_c = M / (4 * d);
  const Index moved = elements_moved(fa1(), large, d, {std::min(B_c, d), B_c});
  CHECK(in_units_of_flash(moved, large, d, M) == doctest::Approx(12.25).epsilon(.002));
  for (const Index m : {M, 2 * M, 4 * M}) {
    CAPTURE(m);
    const auto best_fa1 = best_tiling(fa1(), large, d, m),
               best_fa2 = best_tiling(fa2(), large, d, m);
    REQUIRE(best_fa1);
    REQUIRE(best_fa2);
    CHECK(in_units_of_flash(best_fa1->elements, large, d, m) == doctest::Approx(6.2).epsilon(.01));
    CHECK(in_units_of_flash(best_fa2->elements, large, d, m) ==
          doctest::Approx(4.15).epsilon(.015));
    CHECK(static_cast<double>(best_fa2->elements) >=
          forward_lower_bound({large, d, static_cast<double>(m)}));
  }
  CHECK_FALSE(best_tiling(fa2(), large, d, 4 * d));  // K, V, Q, O of one row leave no room for S
}

TEST_CASE(
    "exact counts at d = 128: FA2 first moves less than square tiling at 0.221 d², FA1 at 0.392") {
  const Index d = 128;
  const auto first = [&](const Algorithm& algorithm, SquareTiling tiling) {
    const auto turn = crosses_square_tiling(algorithm, large, d, tiling);
    REQUIRE(turn);
    return static_cast<double>(turn->first) / static_cast<double>(d * d);
  };
  CHECK(first(fa2(), square_tiling) == doctest::Approx(.221).epsilon(.003));
  CHECK(first(fa1(), square_tiling) == doctest::Approx(.392).epsilon(.003));
}

TEST_CASE("square tiling as if B divided d, no count, is passed later by FA1, by FA2 no earlier") {
  const Index d = 128;
  for (const Algorithm* algorithm : {&fa1(), &fa2()}) {
    CAPTURE(std::string(algorithm->name));
    const auto counted = crosses_square_tiling(*algorithm, large, d, square_tiling);
    const auto undivided = crosses_square_tiling(*algorithm, large, d, square_tiling_undivided);
    REQUIRE(counted);
    REQUIRE(undivided);
    CHECK(undivided->first >= counted->first);
    CHECK(undivided->always >= counted->always);
  }
}

TEST_CASE("FA1 moves less than standard attention from B_c = 3d/4 on, FA2 from B_r = d/2 on") {
  const Index whole = 75 * 262'144;  // a multiple of every edge: no tile is cut short
  for (const Index d : {31, 32, 64, 100, 128}) {
    CAPTURE(d);
    const auto check = [&](const Algorithm& algorithm, double edge) {
      const auto turn = beats_standard(algorithm, whole, d);
      REQUIRE(turn);
      CHECK(turn->first == turn->always);
      // At a whole edge the terms in N² are equal, and those in Nd decide in the block's favour.
      CHECK(turn->first == static_cast<Index>(std::ceil(edge)));
    };
    check(fa1(), .75 * static_cast<double>(d));
    check(fa2(), .5 * static_cast<double>(d));
  }
}

TEST_CASE("flash traffic is proportional to 1/M and to N², within 2 % over the regime's range") {
  const Index d = 64;
  for (const Algorithm* algorithm : {&fa1(), &fa2()}) {
    CAPTURE(std::string(algorithm->name));
    std::vector<Sample> over_m, over_n;
    for (Index m = 4096; m <= large * d / 10; m *= 2)
      over_m.push_back({static_cast<double>(m),
                        static_cast<double>(best_tiling(*algorithm, large, d, m)->elements)});
    for (Index n = 20'480; n <= 2'000'000; n *= 2)
      over_n.push_back({static_cast<double>(n),
                        static_cast<double>(best_tiling(*algorithm, n, d, 16'384)->elements)});
    const auto in_m = longest_power_law(over_m, .05), in_n = longest_power_law(over_n, .05);
    REQUIRE(in_m);
    REQUIRE(in_n);
    CHECK(in_m->exponent == doctest::Approx(-1).epsilon(.02));
    CHECK(in_m->last / in_m->first >= 64);
    CHECK(in_n->exponent == doctest::Approx(2).epsilon(.02));
    CHECK(in_n->last / in_n->first >= 32);
  }
}

TEST_CASE("what is resident at the peak is listed, and adds up to it") {
  const AttentionProblem problem = testing::square(40, 8, true);
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(std::string(algorithm.name));
    const Report report = testing::run_random(algorithm, problem, {{{16, 8}}});
    Index bytes = 0;
    for (const ResidentTile& tile : report.peak_tiles) {
      CHECK(tile.bytes >= 2 * tile.rows * tile.columns);
      bytes += tile.bytes;
    }
    CHECK(bytes == report.peak_sram_bytes);
    CHECK(closed_form(algorithm, problem).peak_tiles.empty());
  }
}

TEST_CASE("closed forms of every algorithm take less than 50 ms at N = 1,000,000, causal or not") {
  for (const bool causal : {false, true})
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(std::string(algorithm.name));
      CAPTURE(causal);
      const AttentionProblem problem = testing::square(large, 64, causal);
      // The best of several in processor time: other processes and first touches do not count.
      double seconds = infinite;
      for (int attempt = 0; attempt < 5; ++attempt) {
        const std::clock_t start = std::clock();
        const Report report = closed_form(algorithm, problem, {{64, 64}});
        seconds = std::min(seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        CHECK(report.flops_executed > 0);
      }
      CHECK(seconds < .05);
    }
}
