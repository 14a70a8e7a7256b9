// Which tiles of rows the blocks of a grid compute that stay for many: persistent ones.
#pragma once

#include <cstdint>

#include "cuda/rules/wgmma.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Division of numbers from 0 to 2^31 - 1 by one of them, not 0, that the host knows: a
/// multiplication where a division would take some 20 instructions, each waiting for the one
/// before. Granlund and Montgomery, "Division by invariant integers using multiplication", 1994,
/// section 4.
struct Divisor {
  int by;
  uint32_t factor;  ///< 2^(32 + shift) / by, rounded up, less 2^32
  int shift;

  explicit Divisor(int of = 1) : by(of), factor(0), shift(0) {
    while (int64_t{1} << shift < by) ++shift;
    const uint64_t power = uint64_t{1} << shift;
    factor = static_cast<uint32_t>(((power - static_cast<uint64_t>(by)) << 32) / by + 1);
  }
  FLASHBOOK_DEVICE int quotient(int n) const {
    const auto number = static_cast<uint32_t>(n);
    const auto high = static_cast<uint32_t>(uint64_t{number} * factor >> 32);
    return static_cast<int>((high + number) >> shift);
  }
};

/// Neighbouring tiles of one head, one a block of a cluster, are an item. In round r cluster c
/// takes item r clusters + c.
///
/// Heads come in groups whose K and V the L2 holds. Under a causal mask the items of a group are
/// sorted by how many keys they see: those of the last group from most to fewest, of the groups
/// before in turn the other way round, so that the order has no jumps; and every second round goes
/// through the clusters backwards. Each cluster then gets about as many keys.
struct TileOrder {
  int per_head, heads;   ///< items of a head; heads of all batch entries
  int of_group, groups;  ///< heads of a group, but for the last; groups
  bool sorted;           ///< by keys
  Divisor items_of_group, full_group, last_group;
  Divisor heads_q, sharing;  ///< heads of a batch entry; those that share K and V

  TileOrder(int items_of_head, int heads_of_group, bool by_keys, const Sizes& sizes)
      : per_head(items_of_head),
        heads(sizes.batch * sizes.heads_q),
        of_group(heads_of_group),
        groups(tiles(heads, of_group)),
        sorted(by_keys),
        items_of_group(per_head * of_group),
        full_group(of_group),
        last_group(heads - (groups - 1) * of_group),
        heads_q(sizes.heads_q),
        sharing(sizes.group()) {}

  struct Place {
    int number, head;  ///< of the item in its head, and of the head among all
  };
  /// Whether cluster `mine` of `clusters` has a tile in this round; which.
  FLASHBOOK_DEVICE bool find(Place& place, int round, int mine, int clusters) const {
    const bool backwards = sorted && round % 2 == 1;
    const int item = round * clusters + (backwards ? clusters - 1 - mine : mine);
    if (item >= per_head * heads) return false;
    const int number_of_group = items_of_group.quotient(item), first = number_of_group * of_group;
    const Divisor& size = number_of_group + 1 == groups ? last_group : full_group;
    const int in_group = item - first * per_head, number = size.quotient(in_group);
    const bool descends = sorted && (groups - 1 - number_of_group) % 2 == 0;
    place = {descends ? per_head - 1 - number : number, first + in_group - number * size.by};
    return true;
  }
};

/// B_r rows of a head and the keys that they see, in tiles of B_c. Tile 0 begins before key 0 if
/// they are no whole number of tiles; the others follow from the last on. So none but the first
/// tiles hold anything hidden.
template <int B_r, int B_c>
struct OrderedTile {
  int first, head, kv_head, batch;
  int end;  ///< of the keys that some row of the cluster's tiles sees

  FLASHBOOK_DEVICE int key_tiles() const { return tiles(end, B_c); }
  FLASHBOOK_DEVICE bool is_ragged() const { return end % B_c != 0; }
  FLASHBOOK_DEVICE int first_key(int t) const {
    const int from_end = !is_ragged() ? t + 1 : t == 0 ? key_tiles() : t;
    return end - from_end * B_c;
  }
  /// How many tiles, from tile 0 on, have to be looked at for masks and maxima by rows that all see
  /// the keys before full_end: those in which something is hidden, and at least one in which each
  /// row sees a key.
  FLASHBOOK_DEVICE int first_tiles(int full_end) const {
    const int hidden = end - full_end, count = key_tiles();
    const int these = 1 + (is_ragged() ? tiles(hidden, B_c) : hidden / B_c);
    return these < count ? these : count;
  }
};

/// The tile of block `rank` of a cluster.
template <int B_r, int B_c>
FLASHBOOK_DEVICE OrderedTile<B_r, B_c> tile_at(const TileOrder& order,
                                               const TileOrder::Place& place,
                                               const Visible& visible, int rank, int cluster) {
  const int rows = place.number * (cluster * B_r), batch = order.heads_q.quotient(place.head);
  const int head = place.head - batch * order.heads_q.by;
  return {rows + rank * B_r, head, order.sharing.quotient(head), batch,
          visible.keys_of(Range{rows, rows + cluster * B_r}).end};
}

}  // namespace flashbook::FLASHBOOK_MACHINE
