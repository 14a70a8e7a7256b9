// persistent_tiles in clusters of two blocks, whose tiles of rows are neighbours and so read the
// same keys: each block loads half of every tile of K and V and sends it to both. From the L2 then
// comes half as much. A stage is empty when the consumers of both blocks have given it back
// (cuda/rules/ring.cuh).
//
// A block whose rows overflowed computes them again alone: the other one need not know.
//
// Under a causal mask the first of two neighbours sees some keys less and would wait for the other;
// and at d = 64 a block of 256 rows reads little. There a block stays alone.
//
// Predicted against persistent_tiles, at d = 128: 1.06 times faster, as a sketch of both measured
// on an H200 (utilisation .902 and .959 at N = 16384). At the tensor cores' full rate 128 rows read
// 32 bytes of K and V a cycle and multiprocessor, together 7 TB/s; the L2 gives less.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/forward/persistent_attention.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::cluster_multicast {

using persistent::TileShape;

/// Blocks of a cluster.
template <int D>
constexpr int together = D == 64 ? 1 : 2;

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  constexpr auto alone = persistent::launch_all<T, TileShape<D>>;
  constexpr auto with_neighbour = persistent::launch_all<T, TileShape<D, together<D>>>;
  return (problem.causal ? alone : with_neighbour)("cluster_multicast", problem, tensors, stream);
}

inline LaunchStatus launch_cluster_multicast(const flashbook_problem& problem,
                                             const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::cluster_multicast

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel cluster_multicast_forward = {
    "cluster_multicast",
    "two blocks load K and V for each other",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    cluster_multicast::launch_cluster_multicast,
    {.nan_rows = 256, .nan_keys = 128, .hopper_only = true}};
}
