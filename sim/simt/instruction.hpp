#pragma once

#include <cstdint>

namespace flashbook::simt {

/// The instructions at which a thread may have to wait for others.
enum class Instruction : std::uint8_t {
  none,
  syncwarp,
  shuffle,
  vote,
  ldmatrix,
  mma,
  barrier,
  mbarrier_wait,
  cluster_barrier,
  wgmma,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  setmaxnreg
};

constexpr const char* name(Instruction instruction) {
  constexpr const char* names[] = {"nothing",         "syncwarp",  "shuffle",     "vote",
                                   "ldmatrix",        "mma",       "barrier",     "mbarrier wait",
                                   "cluster barrier", "wgmma",     "wgmma fence", "wgmma commit",
                                   "wgmma wait",      "setmaxnreg"};
  return names[static_cast<unsigned>(instruction)];
}

}  // namespace flashbook::simt
