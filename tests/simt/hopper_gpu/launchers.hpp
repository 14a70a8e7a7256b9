#pragma once

#include <cstdint>
#include <vector>

#include "cuda/isa/launch_types.hpp"

/// This folder's parent's kernels for Hopper GPUs on a GPU, from and to host memory.
namespace flashbook::gpu {

/// Whether there is a device of compute capability 9.0.
bool is_hopper_present();

/// fp16 bits [N, d], d = 64 or 128; writes O and the LSE.
LaunchStatus run_hopper_forward(int d, const std::vector<std::uint16_t>& Q,
                                const std::vector<std::uint16_t>& K,
                                const std::vector<std::uint16_t>& V, float scale,
                                std::vector<std::uint16_t>& O, std::vector<float>& lse);

/// x [n, 16, 32]; writes y [2, n, 32].
LaunchStatus run_cluster_ring(const std::vector<float>& x, int n, std::vector<float>& y);

}  // namespace flashbook::gpu
