#include <doctest/doctest.h>

#include <string>

#include "tests/simt/kernel_runs.hpp"

// Correct kernels: they compute what they should and nothing is reported, in 20 orders of their
// warps.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

constexpr unsigned seeds = 20;

/// run(options) is right and clean for all seeds.
template <class Run>
void check_clean(Run&& run) {
  bool right = true;
  const simt::Report report = simt::over_seeds(seeds, {}, [&](const simt::Options& options) {
    Outcome outcome = run(options);
    right = right && outcome.right;
    return std::move(outcome.report);
  });
  CHECK(right);
  for (const simt::Finding& finding : report.findings) CHECK(finding.text() == "");
}

}  // namespace

TEST_CASE_TEMPLATE("mma_forward, whole and ragged tiles", T, half, bfloat16) {
  for (const auto& [N_q, N_k] : {std::pair(64, 64), std::pair(1, 1), std::pair(65, 127)})
    check_clean([&, q = N_q, k = N_k](const simt::Options& options) {
      return run_mma_forward(mma_forward::forward<T>, options, q, k);
    });
}

TEST_CASE("fma_forward, whole and ragged tiles") {
  for (const auto& [N_q, N_k] : {std::pair(64, 16), std::pair(1, 1), std::pair(65, 33)})
    check_clean([&, q = N_q, k = N_k](const simt::Options& options) {
      return run_fma_forward(fma_forward::forward, options, q, k);
    });
}

TEST_CASE("block_sum: warps through shared memory, blocks atomically") {
  check_clean(
      [](const simt::Options& options) { return run_block_sum(block_sum::add_up, options); });
}

TEST_CASE("pipeline: numbered barriers in both directions") {
  check_clean(
      [](const simt::Options& options) { return run_pipeline(pipeline::reverse, options); });
}
