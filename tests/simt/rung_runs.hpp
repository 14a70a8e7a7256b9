#pragma once

#include "cpu_reference/attention_problem.hpp"
#include "cuda/rules/kernel.hpp"
#include "tests/simt/kernel_runs.hpp"

namespace flashbook::emulated {

/// A forward rung by its launcher, at d = 64.
template <class T, class Launch>
Outcome run_forward_rung(Launch* launch, simt::Options options, int N_q, int N_k) {
  constexpr int d = 64;
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<T> Q(q, 1), K(k, 2), V(k, 3), O(q);
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  flashbook_problem problem = dense_problem(1, 1, 1, N_q, N_k, d, d);
  problem.dtype = std::is_same_v<T, half> ? FLASHBOOK_FP16 : FLASHBOOK_BF16;
  simt::Stream stream = {options, {}};
  launch(problem, {Q.data(), K.data(), V.data(), O.data(), lse.data()}, nullptr, &stream);
  const double tolerance = std::is_same_v<T, half> ? 2e-3 : 1.6e-2;
  return {std::move(stream.report),
          is_attention(Q, K, V, O, lse, N_q, N_k, d, problem.scale, tolerance)};
}

}  // namespace flashbook::emulated
