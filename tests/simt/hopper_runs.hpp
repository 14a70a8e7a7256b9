#pragma once

#include "tests/simt/cluster_ring.cuh"
#include "tests/simt/hopper_forward.cuh"
#include "tests/simt/kernel_runs.hpp"

/// Runs of this folder's kernels for Hopper GPUs on the emulator.
namespace flashbook::emulated {

/// `start` and `kernel` are launch_forward<T, d> and forward<T, d>, or a variant's.
template <class T, int d, class Launch, class Parameters>
Outcome run_hopper_forward(Launch start, void (*kernel)(Parameters), simt::Options options, int N_q,
                           int N_k) {
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<T> Q(q, 1), K(k, 2), V(k, 3), O(q);
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  const float scale = 0.125f;
  simt::Stream stream = {options, {}};
  start(kernel, Q.constant(), K.constant(), V.constant(), O.view(), lse.view(), N_q, N_k, scale,
        &stream);
  const double tolerance = std::is_same_v<T, half> ? 2e-3 : 1.6e-2;
  return {std::move(stream.report), is_attention(Q, K, V, O, lse, N_q, N_k, d, scale, tolerance)};
}

/// The parameters' type is the kernel's: a variant of the kernel has its own.
template <class Launch, class Parameters>
Outcome run_cluster_ring(Launch start, void (*kernel)(Parameters), simt::Options options) {
  using cluster_ring::columns, cluster_ring::rows;
  const int n = 7, sums = cluster_ring::blocks * n * columns;
  Numbers<float> x(n * rows * columns, 1), y(sums);
  simt::Stream stream = {options, {}};
  start(kernel, x.constant(), y.view(), n, &stream);
  bool right = true;
  for (int i = 0; i < sums; ++i) {
    double sum = 0;
    for (int row = 0; row < rows; ++row)
      sum += x[(i / columns % n * rows + row) * columns + i % columns];
    right = right && std::abs(y[i] - sum) <= 1e-5;
  }
  return {std::move(stream.report), right};
}

}  // namespace flashbook::emulated
