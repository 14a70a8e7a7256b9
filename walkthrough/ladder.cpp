#include "walkthrough/ladder.hpp"

namespace flashbook {

std::span<const LadderRung> fa2_ladder() {
  static constexpr std::array<LadderRung, 10> rungs = {{
      {"tensor_core", "", 0, {0, 79}, {0, 66}, 0},
      {"deferred_normalisation", "O / l once, at the end", 1.10, {1.78, 141}, {2.61, 172}, 1.70},
      {"exp2", "scale, log2 e: one factor", 1.15, {1.20, 170}, {0.96, 166}, 1.19},
      {"unmasked_tiles", "whole tiles are not masked", 1.15, {1.11, 189}, {1.10, 182}, 1.15},
      {"double_buffering", "cp.async behind products", 1.3, {1.22, 228}, {1.42, 258}, 1.22},
      {"swizzle", "no padding", 1.0, {1.10, 252}, {1.00, 259}, 1.07},
      {"q_in_registers", "Q read once", 1.1, {0.97, 246}, {1.06, 275}, 0},
      {"tile_shapes", "32 rows a warp", 1.35, {1.15, 282}, {1.24, 342}, 0},
      {"lazy_rescale", "O rescaled if m rose by 8", 1.08, {1.03, 291}, {1.12, 384}, 0},
      {"ping_pong", "two groups take turns", 1.2, {1.19, 347}, {0.94, 360}, 0},
  }};
  return rungs;
}

std::span<const HopperRung> hopper_ladder() {
  static constexpr std::array<HopperRung, 6> rungs = {{
      {"tma_wgmma", "copies by TMA, wgmma", 1.3, 1.29, 460, 472, 560},
      {"warp_specialised", "a producer, consumers", 1.2, 1.13, 379, 534, 581},
      {"gemm_softmax_overlap", "softmax beside P V", 1.17, 1.11, 426, 595, 643},
      {"warpgroup_ping_pong", "consumers take turns", 1.06, 0.99, 432, 591, 641},
      {"wgmma_q_in_registers", "Q in registers", 1.02, 1.01, 421, 599, 633},
      {"no_running_maximum", "the first maximum stays", 1.13, 1.05, 456, 628, 661},
  }};
  return rungs;
}

}  // namespace flashbook
