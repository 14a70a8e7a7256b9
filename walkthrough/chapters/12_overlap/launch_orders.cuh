// The launchers of orders.cuh, compiled once for each machine.
#pragma once

#include "cuda/rules/refusal.hpp"
#include "walkthrough/chapters/12_overlap/orders.cuh"

namespace flashbook::FLASHBOOK_MACHINE::orders {

using flashbook::orders::Order;

inline std::string refusal(const flashbook_problem& p) {
  const std::string of_rungs = hopper_rung_refusal(p, compute_capability());
  if (!of_rungs.empty()) return of_rungs;
  const bool taken = p.dtype == FLASHBOOK_BF16 && p.d == D && p.d_v == D && !p.causal &&
                     p.n_q > 0 && p.n_k > 0 && p.n_q % Shape::B_r == 0 && p.n_k % Shape::B_c == 0;
  return taken ? "" : "these kernels take bf16, d = 128, no mask and multiples of 128 tokens";
}

inline std::size_t workspace_bytes(const flashbook_problem& p) {
  return Shape::consumers * flashbook::orders::most_stamps(p.n_k / Shape::B_c) * sizeof(Stamp);
}

template <class Steps, bool each_step>
LaunchStatus launch_order(const flashbook_problem& problem, const ForwardTensors& tensors,
                          void* workspace, void* stream) {
  const std::size_t most = flashbook::orders::most_stamps(problem.n_k / Shape::B_c);
  Parameters p = {};
  const LaunchStatus status = make_tma_parameters<T>(p, problem, tensors, {Shape::B_r, Shape::B_c});
  if (!status.ok()) return status;
  p.most = static_cast<int>(most);
  p.stamps = {static_cast<uint2*>(workspace), static_cast<std::ptrdiff_t>(Shape::consumers * most)};
  const int64_t blocks = head_tiles(p.sizes.n_q(), Shape::B_r, p.sizes.heads_q, p.sizes.batch);
  return launch_blocks("orders", blocks, Shape::threads, sizeof(Smem), stream,
                       forward<Steps, each_step>, p);
}

template <class Steps>
Order order(const char* name, const char* what) {
  const KernelProperties properties = {.nan_rows = 128, .nan_keys = 128, .hopper_only = true};
  return {name,
          what,
          {name, what, refusal, workspace_bytes, launch_order<Steps, true>, properties},
          {name, what, refusal, workspace_bytes, launch_order<Steps, false>, properties}};
}

std::span<const Order> all() {
  static const Order orders[] = {
      order<OneAfterAnother>("one_after_another", "S, softmax, O += P V, one after the other"),
      order<Overlapped>("overlapped", "the softmax while O += P V of the tile before runs"),
      order<InTurns<false>>("in_turns", "the same, and consumers take turns"),
      order<InTurns<true>>("no_maximum", "the same, by the first tile's maximum")};
  return orders;
}

}  // namespace flashbook::FLASHBOOK_MACHINE::orders
