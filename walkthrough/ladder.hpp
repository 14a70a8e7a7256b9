#pragma once

#include <array>
#include <span>

namespace flashbook {

/// How much faster than the rung before, and the nominal rate.
struct LadderGain {
  double times;  ///< 0 for the first rung
  int tflops;
};

/// A rung of the forward ladder, from the first kernel on tensor cores on.
struct LadderRung {
  const char* name;
  const char* idea;
  double predicted;  ///< before anything ran, times faster than the rung before; 0 for the first
  LadderGain d64;    ///< measured in fp16, N = 4096, 64 heads
  LadderGain d128;   ///< in bf16, N = 4096, 32 heads
  double causal;     ///< the gain at d = 64 under a causal mask; 0 where it was not measured
};

/// In the order of the ladder. The measurements are those of docs/performance.md, "The
/// FlashAttention-2 ladder on an H200", which says how they were made; a test compares them.
std::span<const LadderRung> fa2_ladder();

/// A rung of the Hopper ladder, in bf16, N = 4096, not causal.
struct HopperRung {
  const char* name;
  const char* idea;
  double predicted, gain;  ///< at d = 128, times faster than the rung before; ping_pong, the first
  int d64, d128, d256;     ///< TFLOP/s
};

/// The first six, in the order of the ladder. The measurements are those of docs/performance.md,
/// "The Hopper ladder"; a test compares them.
std::span<const HopperRung> hopper_ladder();

/// What a first kernel in Triton is said to lose, in percent of its time, and the rung that gains
/// it back; none of ours does for casts.
struct TritonLoss {
  const char* what;
  int least, most;
  const char* rung;  ///< nullptr: none
};
constexpr std::array<TritonLoss, 4> triton_losses = {
    {{"division", 10, 15, "deferred_normalisation"},
     {"exp", 3, 5, "exp2"},
     {"mask test", 5, 10, "unmasked_tiles"},
     {"casts", 2, 3, nullptr}}};

}  // namespace flashbook
