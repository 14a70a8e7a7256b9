#include <doctest/doctest.h>

#include <string>

#include "tests/simt/check_clean.hpp"

// Correct kernels: they compute what they should and nothing is reported, in 20 orders of their
// warps.

using namespace flashbook;
using namespace flashbook::emulated;

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
