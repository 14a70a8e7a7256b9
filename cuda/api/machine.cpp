#include "cuda/api/machine.hpp"

namespace flashbook {

std::span<const KernelPair> emulated_pairs() {
  using namespace emulated;
  static const KernelPair pairs[] = {
      {"standard", &standard_forward, &standard_backward},
      {"fa1", &fa1_forward, &three_kernel_backward},
      {"one_pass", &one_pass_forward, &three_kernel_backward},
      {"tensor_core", &tensor_core_forward, &three_kernel_backward},
      {"deferred_normalisation", &deferred_normalisation_forward, &three_kernel_backward},
      {"exp2", &exp2_forward, &three_kernel_backward},
      {"unmasked_tiles", &unmasked_tiles_forward, &three_kernel_backward},
      {"double_buffering", &double_buffering_forward, &three_kernel_backward},
      {"swizzle", &swizzle_forward, &three_kernel_backward},
      {"q_in_registers", &q_in_registers_forward, &three_kernel_backward},
      {"tile_shapes", &tile_shapes_forward, &three_kernel_backward},
      {"lazy_rescale", &lazy_rescale_forward, &three_kernel_backward},
      {"ping_pong", &ping_pong_forward, &three_kernel_backward},
      {"fa2", &fa2_forward, &three_kernel_backward},
      {"tma_wgmma", &tma_wgmma_forward, &three_kernel_backward},
      {"warp_specialised", &warp_specialised_forward, &three_kernel_backward},
      {"gemm_softmax_overlap", &gemm_softmax_overlap_forward, &three_kernel_backward},
      {"warpgroup_ping_pong", &warpgroup_ping_pong_forward, &three_kernel_backward},
      {"wgmma_q_in_registers", &wgmma_q_in_registers_forward, &three_kernel_backward},
      {"no_running_maximum", &no_running_maximum_forward, &three_kernel_backward},
      {"persistent_tiles", &persistent_tiles_forward, &three_kernel_backward},
      {"cluster_multicast", &cluster_multicast_forward, &three_kernel_backward},
      {"fa3", &fa3_forward, &three_kernel_backward},
  };
  return pairs;
}

std::string_view name(Machine machine) {
  return machine == Machine::cpu ? "cpu" : "gpu";
}

}  // namespace flashbook
