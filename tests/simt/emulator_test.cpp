#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/simt/kernel_runs.hpp"

// The machine itself: order, barriers, launches, what it counts and reports.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

/// Runs one block of a kernel that is a lambda of the test.
template <class Kernel>
simt::Report run_block(unsigned threads, std::size_t shared_bytes, Kernel kernel,
                       const simt::Options& options = {}) {
  return simt::launch({"kernel", {}, {threads}, shared_bytes}, options, kernel);
}

bool only(const simt::Report& report, simt::Category category) {
  return report.findings.size() == 1 && report.findings[0].category == category;
}

}  // namespace

TEST_CASE("what a kernel executes is counted: mma_forward, from its tiles") {
  const int N = 128;
  const Outcome outcome = run_mma_forward(mma_forward::forward<half>, {}, N, N);
  const simt::LineCounts total = outcome.report.total();
  const std::uint64_t blocks = N / 64, tiles = blocks * blocks, warps = 4;
  CHECK(total.mma == tiles * warps * 2 * 4 * 8);
  CHECK(total.mma_flops == 4ull * N * N * 64);
  CHECK(total.ldmatrix == blocks * warps * 4 + tiles * warps * 2 * 16);
  CHECK(total.exp2 == tiles * warps * (2 + 32));
  CHECK(total.shuffles == tiles * warps * 4 + blocks * warps * 4);
  CHECK(total.barriers == warps * (blocks + 2 * tiles));
  CHECK(total.async_copies == warps * 4 * (blocks + 2 * tiles));
  CHECK(total.shared_load.cost == total.shared_load.ideal);  // XorSwizzle has no conflicts
  CHECK(total.shared_store.cost == total.shared_store.ideal);
  // Q once, K and V once a block of rows: 64 rows of 128 bytes each
  CHECK(total.global_load.cost == (blocks + 2 * tiles) * 64 * 128 / 32);
  CHECK(simt::table(outcome.report).find("mma_forward.cuh:") != std::string::npos);
  CHECK(simt::table(outcome.report).find("TMA") == std::string::npos);
}

TEST_CASE("e^x counts as the exp2 that a GPU makes of it: fma_forward, two a key") {
  const Outcome outcome = run_fma_forward(fma_forward::forward, {}, 64, 20);
  CHECK(outcome.report.total().exp2 == 64 / 32 * 20 * 2);
}

TEST_CASE("counting and checking change no result, nor does the number of OS threads") {
  for (const bool on : {false, true})
    for (const unsigned os_threads : {1u, 3u}) {
      simt::Options options;
      options.count = options.check = on;
      options.os_threads = os_threads;
      const Outcome outcome = run_fma_forward(fma_forward::forward, options, 130, 20);
      CHECK(outcome.right);
      CHECK(outcome.report.clean());
    }
}

TEST_CASE("a seed permutes the warps, and repeats") {
  const auto order_of = [](unsigned seed) {
    std::vector<unsigned> order;
    simt::Options options;
    options.seed = seed;
    run_block(
        128, 0,
        [&] {
          sync_threads();
          if (threadIdx.x % 32 == 0) order.push_back(threadIdx.x / 32);
        },
        options);
    return order;
  };
  CHECK(order_of(0).size() == 4);
  std::set<std::vector<unsigned>> orders;
  for (unsigned seed = 0; seed < 20; ++seed) {
    orders.insert(order_of(seed));
    CHECK(order_of(seed) == order_of(seed));
  }
  CHECK(orders.size() >= 5);
}

TEST_CASE("a report is the same on one OS thread and on several") {
  const auto report_on = [](unsigned os_threads) {
    simt::Options options;
    options.os_threads = os_threads;
    const auto kernel = [] {
      auto& tile = shared_memory<Tile<float, 1, 64>>();
      if (blockIdx.x % 3 == 1) tile(0, threadIdx.x ^ 32) = tile(0, threadIdx.x);
      if (blockIdx.x == 5) tile(0, 64) = 1;
      tile(0, threadIdx.x) = 0;
    };
    std::string texts;
    for (const auto& finding : simt::launch({"k", {9}, {64}, 256}, options, kernel).findings)
      texts += finding.text();
    return texts;
  };
  const std::string expected = report_on(1);
  CHECK(expected.find("block (1,0,0)") != std::string::npos);
  for (int repetition = 0; repetition < 5; ++repetition) CHECK(report_on(4) == expected);
}

TEST_CASE("every place outside of a tile or a tensor is out of bounds") {
  std::array<float, 8> memory = {};
  for (const auto& [row, column] : {std::pair(-1, 0), {0, -1}, {1, -3}, {2, 0}, {0, 4}, {1, 4}})
    CHECK(only(
        run_block(1, 32, [r = row, c = column] { shared_memory<Tile<float, 2, 4>>()(r, c) = 1; }),
        simt::Category::out_of_bounds));
  for (const int i : {-1, 8, 1 << 30})
    CHECK(only(run_block(1, 0, [&, n = i] { gmem<float>(memory.data(), 8)(n) = 1; }),
               simt::Category::out_of_bounds));
}

TEST_CASE("a warp may be smaller than 32, but not for mma") {
  std::array<unsigned, 40> sums = {};
  const simt::Report report = run_block(40, 0, [&] {
    const unsigned mine = threadIdx.x;
    sums[mine] = mine + shuffle_xor(mine, 1);
    CHECK(any(mine == 39) == (mine >= 32));
  });
  CHECK(report.clean());
  CHECK(sums[38] == 77);
  const simt::Report refused = run_block(40, 0, [] {
    float d[4] = {};
    const uint32_t a[4] = {};
    if (threadIdx.x >= 32) mma_m16n8k16<half>(d, a, 0, 0);
  });
  CHECK(only(refused, simt::Category::divergence));
}

TEST_CASE("launches that no GPU accepts are refused by name") {
  const auto nothing = [] {};
  for (const simt::LaunchShape& shape :
       {simt::LaunchShape{"k", {}, {1025}}, simt::LaunchShape{"k", {0}, {32}},
        simt::LaunchShape{"k", {1, 65536}, {32}},
        simt::LaunchShape{"k", {}, {32}, simt::max_shared_bytes + 1}})
    CHECK(only(simt::launch(shape, {}, nothing), simt::Category::invalid));
  const LaunchStatus status = launch(
      {"two_thousand", {}, {2000}}, nullptr, +[] {});
  CHECK(status.error.find("kernel two_thousand") != std::string::npos);
  CHECK(status.error.find("2000 threads") != std::string::npos);
}

TEST_CASE("an atomic addition must be announced") {
  const Outcome outcome = run_block_sum(block_sum::add_up, {}, false);
  CHECK(only(outcome.report, simt::Category::invalid));
}

TEST_CASE("races between blocks are found on one OS thread and on several") {
  for (const unsigned os_threads : {1u, 2u, 4u}) {
    alignas(16) std::array<float, 8> memory = {};
    simt::Options options;
    options.os_threads = os_threads;
    const auto run = [&](auto kernel) {
      return simt::launch({"k", {4}, {32}}, options,
                          [&] { kernel(gmem<float>(memory.data(), 8)); });
    };
    CHECK(run([](gmem<float> x) {
            if (threadIdx.x == 0) x(blockIdx.x) = 1;
          }).clean());
    CHECK(only(run([](gmem<float> x) {
                 if (threadIdx.x == 0) x(blockIdx.x / 2 * 4) = 1;
               }),
               simt::Category::block_race));
    CHECK(only(run([](gmem<float> x) {
                 if (threadIdx.x == 0 && blockIdx.x == 3) x(5) = 1;
                 if (threadIdx.x == 0 && blockIdx.x != 3) static_cast<void>(x(5) + 1);
               }),
               simt::Category::block_race));
    CHECK(run([](gmem<float> x) { static_cast<void>(x(5) + 1); }).clean());
  }
}
