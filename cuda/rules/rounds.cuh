// Which tiles of rows the blocks of a grid compute that stay for many of them.
#pragma once

#include "cuda/rules/work.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// In round r block b of n takes the r n + b-th of all heads' tiles.
///
/// Heads come in groups whose K and V the L2 holds. Under a causal mask the tiles of a group are
/// sorted by how many keys they see: those of the last group from most to fewest, of the groups
/// before in turn the other way round, so that the order has no jumps; and every second round goes
/// through the blocks backwards. Each block then gets about as many keys, and short tiles come
/// last.
struct Rounds {
  int per_head, heads;  ///< tiles of a head; heads of all batch entries
  int of_group;         ///< heads of a group
  bool sorted;          ///< by keys

  struct Place {
    int tile, head;
  };
  /// Whether the block has a tile in this round; which.
  FLASHBOOK_DEVICE bool find(Place& place, int round, unsigned block, unsigned blocks) const {
    const bool backwards = sorted && round % 2 == 1;
    const unsigned number = round * blocks + (backwards ? blocks - 1 - block : block);
    const auto of_head = static_cast<unsigned>(per_head), all = static_cast<unsigned>(heads);
    if (number >= of_head * all) return false;
    const auto most = static_cast<unsigned>(of_group);
    const unsigned group = number / (of_head * most), first = group * most;
    const unsigned size = all - first < most ? all - first : most;
    const unsigned in_group = number - first * of_head, tile = in_group / size;
    const bool descends = sorted && ((all - 1) / most - group) % 2 == 0;
    place = {static_cast<int>(descends ? of_head - 1 - tile : tile),
             static_cast<int>(first + in_group % size)};
    return true;
  }
};

/// Heads whose K and V take so many bytes together are a group.
constexpr int64_t group_bytes = 24 << 20;

/// Rounds of tiles of `size` rows.
template <class T>
Rounds rounds_of(const Sizes& sizes, const Members& members, int size) {
  const int64_t heads = int64_t{sizes.heads_q} * sizes.batch;
  const bool sorted = !members.packed && sizes.visible.right < most_tokens;
  const int64_t bytes = (int64_t{sizes.d} + sizes.d_v) * sizes.n_k() * int64_t{sizeof(T)};
  const int64_t fit = sorted ? group_bytes * sizes.group() / (bytes + 1) : 1;
  return {static_cast<int>(tiles_of_head(sizes.n_q(), members, size)), static_cast<int>(heads),
          static_cast<int>(fit < 1       ? 1
                           : fit < heads ? fit
                                         : heads),
          sorted};
}

}  // namespace flashbook::FLASHBOOK_MACHINE
