#pragma once

#include "cpu_reference/attention_problem.hpp"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/launcher.cuh"
#include "tests/simt/kernel_runs.hpp"

namespace flashbook::emulated {

/// A forward rung of one kernel whose blocks compute B_r rows, a warp 16 of them; d = 64.
template <class T>
Outcome run_forward(void (*kernel)(ForwardParameters<T>), std::size_t shared_bytes, int B_r,
                    simt::Options options, int N_q, int N_k) {
  constexpr int d = 64;
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<T> Q(q, 1), K(k, 2), V(k, 3), O(q);
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  flashbook_problem problem = dense_problem(1, 1, 1, N_q, N_k, d, d);
  problem.dtype = std::is_same_v<T, half> ? FLASHBOOK_FP16 : FLASHBOOK_BF16;
  const ForwardTensors tensors = {Q.data(), K.data(), V.data(), O.data(), lse.data()};
  simt::Stream stream = {options, {}};
  launch_blocks("rung", tiles(N_q, B_r), B_r / 16 * 32, shared_bytes, &stream, kernel,
                forward_parameters<T>(problem, tensors));
  const double tolerance = std::is_same_v<T, half> ? 2e-3 : 1.6e-2;
  return {std::move(stream.report),
          is_attention(Q, K, V, O, lse, N_q, N_k, d, problem.scale, tolerance)};
}

}  // namespace flashbook::emulated
