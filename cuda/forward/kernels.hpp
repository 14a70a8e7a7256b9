// The forward ladder, on both machines. Each kernel is the file of its name.
#pragma once

#include "cuda/rules/kernel.hpp"

namespace flashbook::emulated {
extern const ForwardKernel standard_forward, fa1_forward, one_pass_forward, tensor_core_forward,
    deferred_normalisation_forward, exp2_forward, unmasked_tiles_forward, double_buffering_forward,
    swizzle_forward, q_in_registers_forward, tile_shapes_forward, lazy_rescale_forward,
    ping_pong_forward, fa2_forward, tma_wgmma_forward, warp_specialised_forward,
    gemm_softmax_overlap_forward, warpgroup_ping_pong_forward, wgmma_q_in_registers_forward,
    no_running_maximum_forward, persistent_tiles_forward, cluster_multicast_forward, fa3_forward;
}

namespace flashbook::gpu {
extern const ForwardKernel standard_forward, fa1_forward, one_pass_forward, tensor_core_forward,
    deferred_normalisation_forward, exp2_forward, unmasked_tiles_forward, double_buffering_forward,
    swizzle_forward, q_in_registers_forward, tile_shapes_forward, lazy_rescale_forward,
    ping_pong_forward, fa2_forward, tma_wgmma_forward, warp_specialised_forward,
    gemm_softmax_overlap_forward, warpgroup_ping_pong_forward, wgmma_q_in_registers_forward,
    no_running_maximum_forward, persistent_tiles_forward, cluster_multicast_forward, fa3_forward;
}
