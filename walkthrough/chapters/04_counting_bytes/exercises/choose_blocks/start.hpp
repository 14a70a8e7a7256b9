#pragma once

#include <algorithm>
#include <cstdint>

using Index = std::int64_t;

struct Tile {
  Index rows, keys;  ///< B_r, B_c
};

/// The tile of S for FA2's forward pass in fp16, for N tokens of d channels.
inline Tile choose_blocks(Index sram_bytes, Index d, Index N) {
  // B_c = M / 4d and B_r = min(B_c, d), in whole sixteens. M counts elements, and S needs room.
  const Index keys = std::max<Index>(16, sram_bytes / (4 * d) / 16 * 16);
  return {std::min({keys, d, N}), std::min(keys, N)};
}
