// no_running_maximum with blocks that stay: as many as the GPU holds at once, each for many tiles
// of rows (persistent_attention.cuh). While consumers end one tile, the producer loads the next
// one's Q and first keys, and S of those is started in the same turn as the last O += P V.
//
// Which tiles overflowed is noted, and they are computed again, with the maximum, at the end.
//
// The key stage is given back when half of a tile's weights are there, and not as soon as it could
// be: what it depends on keeps ptxas from moving the wait for O, which follows, before the first
// exponentials. A warpgroup that waits there computes none while the other one's products run.
//
// Predicted against no_running_maximum, at d = 128: 1.05 times faster at N = 4096, 1.3 times at
// 512. Between two tiles a block alone takes some 4,700 cycles, as a first sketch of this rung
// measured on an H200: its launch, the first loads' latency, a softmax beside which nothing runs,
// O's stores. A tile's products take 65,536 and 8,192 cycles. Of these some 2,500 are hidden.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/forward/persistent_attention.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::persistent_tiles {

inline LaunchStatus launch_persistent_tiles(const flashbook_problem& problem,
                                            const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return persistent::launch_all<T, persistent::TileShape<D>>("persistent_tiles", problem, tensors,
                                                               stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::persistent_tiles

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel persistent_tiles_forward = {
    "persistent_tiles",
    "a block stays for many tiles",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    persistent_tiles::launch_persistent_tiles,
    {.nan_rows = 256, .nan_keys = 128, .hopper_only = true}};
}
