#pragma once

#include <array>
#include <string>
#include <vector>

#include "cuda/isa/launch_types.hpp"

namespace flashbook::wavefronts {

/// Where each lane of a warp accesses `bytes` of shared memory.
struct Pattern {
  std::string name;
  int bytes;  ///< 4, 8 or 16
  bool is_write;
  std::array<int, 32> word;  ///< a multiple of bytes / 4; negative: the lane does nothing
};

std::vector<Pattern> patterns();

/// Runs one warp on the emulator, and sets how many wavefronts it counted.
LaunchStatus emulate(const Pattern& pattern, unsigned& wavefronts);
/// Runs all on a GPU, one launch each, in their order.
LaunchStatus run_on_gpu(const std::vector<Pattern>& patterns);

}  // namespace flashbook::wavefronts
