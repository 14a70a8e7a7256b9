// Which part of a problem a block computes. Grids are one-dimensional: x takes 2^31 - 1 blocks, y
// and z only 65,535.
#pragma once

#include "cuda/rules/parameters.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// A tile of rows of one head: queries, or keys and values.
struct HeadTile {
  int first, head, batch;
};

/// The tile of `size` of n rows that block `block` computes. Tiles of a head come one after
/// another, then heads, then batch entries.
FLASHBOOK_DEVICE HeadTile head_tile(unsigned block, int n, int size, int heads) {
  const unsigned of_head = static_cast<unsigned>(tiles(n, size)), head = block / of_head;
  return {static_cast<int>(block % of_head) * size, static_cast<int>(head) % heads,
          static_cast<int>(head) / heads};
}

/// The same tiles, but under a causal mask those of a head from its last rows on. They see most
/// keys, and a grid ends sooner whose longest blocks begin first.
FLASHBOOK_DEVICE HeadTile longest_first(unsigned block, const Visible& visible, int size,
                                        int heads) {
  HeadTile tile = head_tile(block, visible.n_q, size, heads);
  if (visible.right < most_tokens) tile.first = (tiles(visible.n_q, size) - 1) * size - tile.first;
  return tile;
}

/// As many blocks as head_tile counts.
FLASHBOOK_HOST_DEVICE int64_t head_tiles(int n, int size, int heads, int batch) {
  return int64_t{tiles(n, size)} * heads * batch;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
