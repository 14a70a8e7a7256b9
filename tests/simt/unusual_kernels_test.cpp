#include <doctest/doctest.h>

#include <array>
#include <climits>
#include <stdexcept>
#include <string>

#include "cuda/isa/isa.cuh"

// Kernels that look wrong and are right, which must be silent, and kernels that are wrong where
// that is easily overlooked.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

struct Smem {
  Tile<float, 1, 64> x;
  Tile<half, 2, 16> h;
};

alignas(16) std::array<float, 64> memory;

gmem<float> global() {
  return {memory.data(), 64};
}

/// Runs a kernel that is a lambda of the test in three orders of warps.
template <class Kernel>
simt::Report run(const simt::LaunchShape& shape, Kernel kernel, unsigned os_threads = 1) {
  memory.fill(0);
  simt::Options options;
  options.os_threads = os_threads;
  return simt::over_seeds(3, options,
                          [&](const simt::Options& o) { return simt::launch(shape, o, kernel); });
}

template <class Kernel>
simt::Report run_block(unsigned threads, Kernel kernel) {
  return run({"kernel", {}, {threads}, sizeof(Smem)}, kernel);
}

bool only(const simt::Report& report, simt::Category category) {
  return report.findings.size() == 1 && report.findings[0].category == category;
}

/// What the first finding says; empty if there is none.
std::string text(const simt::Report& report) {
  return report.clean() ? "" : report.findings[0].text();
}

bool says(const simt::Report& report, const std::string& what) {
  return text(report).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a warp whose lanes have left goes on without them") {
  CHECK(run_block(32, [] {
          Smem& smem = shared_memory<Smem>();
          if (threadIdx.x >= 20) return;
          smem.x(0, threadIdx.x) = static_cast<float>(threadIdx.x);
          sync_warp();
          global()(threadIdx.x) = smem.x(0, 19 - threadIdx.x);
        }).clean());
  CHECK(memory[0] == 19);
  CHECK(run_block(32, [] {
          if (threadIdx.x % 2 == 1) return;
          global()(threadIdx.x) = static_cast<float>(ballot(true) & 0xffff);
          global()(threadIdx.x + 1) = shuffle_xor(static_cast<float>(threadIdx.x), 2);
        }).clean());
  CHECK(memory[4] == 0x5555);
  CHECK(memory[5] == 6);
}

TEST_CASE("lanes that leave last let those who wait go on") {
  CHECK(run_block(32, [] {
          for (unsigned i = 0; i < threadIdx.x / 8; ++i) sync_warp();
        }).clean());
}

TEST_CASE("the value of a lane that is not there") {
  const simt::Report gone = run_block(32, [] {
    if (threadIdx.x >= 16) return;
    global()(threadIdx.x) = shuffle_xor(1.f, 16);
  });
  CHECK(only(gone, simt::Category::divergence));
  CHECK(says(gone, "lane 0 asks for the value of lane 16, which has left the kernel"));
  const simt::Report absent = run_block(40, [] { global()(threadIdx.x) = shuffle_down(1.f, 4); });
  CHECK(only(absent, simt::Category::divergence));
  CHECK(says(absent, "lane 4 asks for the value of lane 8, which the block has not"));
}

TEST_CASE("matrix instructions need whole warps, also of lanes that have left") {
  const simt::Report report = run_block(32, [] {
    if (threadIdx.x == 31) return;
    float d[4] = {};
    const uint32_t a[4] = {};
    mma_m16n8k16<half>(d, a, 0, 0);
  });
  CHECK(only(report, simt::Category::divergence));
  CHECK(says(report, "lanes have left the kernel"));
}

TEST_CASE("warps must come to a barrier whole") {
  CHECK(only(run_block(64,
                       [] {
                         if (threadIdx.x % 32 < 16) barrier_sync(1, 32);
                       }),
             simt::Category::divergence));
  const auto at_two_lines = [] {  // which CHECK would make one
    if (threadIdx.x % 32 < 16)
      barrier_sync(1, 64);
    else
      barrier_sync(1, 64);
  };
  CHECK(only(run_block(64, at_two_lines), simt::Category::divergence));
  CHECK(run_block(64, [] {
          if (threadIdx.x < 32) return barrier_arrive(1, 64);  // and leaves
          barrier_sync(1, 64);
        }).clean());
}

TEST_CASE("barriers of no thread, of too many and of parts of warps") {
  for (const int threads : {0, 16, 48, 96, -32})
    CHECK(only(run_block(64, [=] { barrier_sync(1, threads); }), simt::Category::invalid));
  for (const int id : {-1, 16})
    CHECK(only(run_block(64, [=] { barrier_sync(id, 64); }), simt::Category::invalid));
}

TEST_CASE("an access outside says where it would be") {
  CHECK(says(run_block(1, [] { shared_memory<Smem>().x(0, 64) = 1; }), "element 64 of 64"));
  CHECK(says(run_block(1, [] { shared_memory<Smem>().x(0, -1) = 1; }), "element -1 of 64"));
  for (const int far : {INT_MIN, INT_MAX}) {
    CHECK(says(run_block(1, [=] { static_cast<void>(shared_memory<Smem>().h(far, 0) = half{}); }),
               "element " + std::to_string(far * std::ptrdiff_t{16}) + " of 32"));
    CHECK(only(run_block(1, [=] { static_cast<void>(shared_memory<Smem>().h(0, far) = half{}); }),
               simt::Category::out_of_bounds));
  }
}

TEST_CASE("blocks that share 16 bytes: each byte has a history of its own") {
  for (const unsigned os_threads : {1u, 3u}) {
    const auto blocks = [&](unsigned count, auto kernel) {
      return run(
          {"kernel", {count}, {1}}, [&] { kernel(blockIdx.x); }, os_threads);
    };
    CHECK(blocks(64, [](unsigned b) { global()(b) = 1; }).clean());
    CHECK(blocks(64, [](unsigned b) {
            if (b == 7) global()(1) = 1;
            static_cast<void>(global()(0) + global()(2));
          }).clean());
    CHECK(only(blocks(5,
                      [](unsigned b) {
                        if (b < 4)
                          global()(b) = 1;
                        else
                          static_cast<void>(global()(0) + 1);
                      }),
               simt::Category::block_race));
    CHECK(only(blocks(3,
                      [](unsigned b) {
                        if (b < 2)
                          store_vector(global() + 2 * b, uint2{1, 2});
                        else
                          store_vector(global() + 1, 1u);
                      }),
               simt::Category::block_race));
    CHECK(only(blocks(64,
                      [](unsigned b) {
                        static_cast<void>(global()(b % 4) + 1);
                        if (b == 9) global()(2) = 1;
                      }),
               simt::Category::block_race));
  }
}

TEST_CASE("what a kernel throws, its launch throws") {
  for (const unsigned os_threads : {1u, 3u}) {
    const auto throwing = [] {
      sync_threads();
      if (blockIdx.x == 2 && threadIdx.x == 33) throw std::runtime_error("from a kernel");
      sync_threads();
    };
    CHECK_THROWS_WITH_AS(run({"kernel", {4}, {64}}, throwing, os_threads), "from a kernel",
                         std::runtime_error);
    CHECK(run(
              {"kernel", {4}, {64}}, [] { sync_threads(); }, os_threads)
              .clean());
  }
}

TEST_CASE("what the report of progress throws, the launch throws") {
  simt::Options options;
  options.os_threads = 3;
  options.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("no progress"); };
  CHECK_THROWS_WITH_AS(simt::launch({"kernel", {4}, {32}}, options, [] {}), "no progress",
                       std::runtime_error);
}
