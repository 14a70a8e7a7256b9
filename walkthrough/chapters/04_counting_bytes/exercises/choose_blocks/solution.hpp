#pragma once

#include <algorithm>
#include <cstdint>

using Index = std::int64_t;

struct Tile {
  Index rows, keys;  ///< B_r, B_c
};

/// The tile of S for FA2's forward pass in fp16, for N tokens of d channels.
inline Tile choose_blocks(Index sram_bytes, Index d, Index N) {
  // Bytes moved depend on the rows alone: as few keys as may be leave room for the most rows.
  const Index keys = 16;
  const Index K_V = 2 * 2 * keys * d;
  const Index a_row = 2 * d + 4 * (d + 2) + 4 * keys;  // of Q; of O, m, ℓ; of S
  return {std::min(N, (sram_bytes - K_V) / a_row) / 16 * 16, keys};
}
