#include <doctest/doctest.h>

#include "tests/simt/check_clean.hpp"
#include "tests/simt/hopper_runs.hpp"

// Kernels for Hopper GPUs: right against double, nothing found in 20 orders of their warps, and
// counted.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

template <class T, int d>
Outcome run_forward(const simt::Options& options, int N_q, int N_k) {
  return run_hopper_forward<T, d>(hopper_forward::launch_forward<T, d>,
                                  hopper_forward::forward<T, d>, options, N_q, N_k);
}

template <class T, int d>
void check_forward(int N_q, int N_k) {
  CAPTURE(N_q);
  CAPTURE(N_k);
  check_clean([=](const simt::Options& options) { return run_forward<T, d>(options, N_q, N_k); });
}

}  // namespace

TEST_CASE("hopper_forward, whole and ragged tiles") {
  check_forward<half, 64>(128, 192);
  check_forward<bfloat16, 64>(1, 1);
  check_forward<half, 64>(130, 327);
  check_forward<half, 128>(64, 129);
  check_forward<bfloat16, 128>(100, 65);
}

TEST_CASE("hopper_forward is counted: products and bytes of whole tiles, rows that exist") {
  constexpr int d = 64, N_q = 130, N_k = 150, blocks = 2, tiles = 3;
  const Outcome outcome = run_forward<half, d>({}, N_q, N_k);
  CHECK(outcome.right);
  const simt::LineCounts total = outcome.report.total();
  CHECK(total.mma_flops == 4ull * (blocks * 128) * (tiles * 64) * d);
  CHECK(total.wgmma == blocks * tiles * 8 * 2 * (d / 16));  // 8 warps
  CHECK(total.tma_load_bytes == 2ull * d * blocks * (128 + 2 * tiles * 64));
  CHECK(total.tma_l2_bytes == 2ull * d * (N_q + blocks * 2 * N_k));
  CHECK(total.tma_store_bytes == 2ull * d * N_q);
  CHECK(total.tma == blocks * (2 + 2 * tiles + 2));
  CHECK(simt::table(outcome.report).find("TMA store bytes") != std::string::npos);
}

TEST_CASE("cluster_ring: halves of tiles multicast to both blocks") {
  const auto run = [](const simt::Options& options) {
    return run_cluster_ring(cluster_ring::start_add_rows, cluster_ring::add_rows, options);
  };
  check_clean(run);
  const simt::LineCounts total = run({}).report.total();
  CHECK(total.tma_l2_bytes == 7 * 16 * 128);
  CHECK(total.tma_load_bytes == 2 * total.tma_l2_bytes);
}
