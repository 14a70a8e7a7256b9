// Which keys a query row sees, as ranges: what a kernel needs to skip tiles, to leave the mask test
// out where everything is visible, and to mask the rest. docs/contract.md, section 3.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// [begin, end); empty where end <= begin.
struct Range {
  int begin, end;

  FLASHBOOK_HOST_DEVICE constexpr bool is_empty() const { return end <= begin; }
  FLASHBOOK_HOST_DEVICE constexpr bool holds(int i) const { return begin <= i && i < end; }
};

/// Sizes of a problem and its window are at most this, so that sums of three fit an int. A side of
/// the window that is larger hides nothing and counts as this.
constexpr int most_tokens = 1 << 29;

/// Tiles of `of` rows or keys that hold n.
FLASHBOOK_HOST_DEVICE constexpr int tiles(int n, int of) {
  return (n + of - 1) / of;
}

/// What of a tile of S is visible.
enum class TileClass { skip, partial, full };

/// Row i sees the keys from i + diagonal - left to i + diagonal + right that exist.
struct Visible {
  int n_q, n_k;
  int diagonal;     ///< the key on row 0's diagonal, may be negative
  int left, right;  ///< most_tokens: unbounded

  FLASHBOOK_HOST_DEVICE constexpr Range keys_of(int row) const {
    return {clamp(row + diagonal - left, n_k), clamp(row + diagonal + right + 1, n_k)};
  }
  // [tile_ranges]
  /// The keys that some row of a tile sees. A tile may reach past the last row, which sees nothing.
  FLASHBOOK_HOST_DEVICE constexpr Range keys_of(Range rows) const {
    if (sees_nothing(rows, n_q)) return {0, 0};
    return {keys_of(rows.begin).begin, keys_of(clamp(rows.end, n_q) - 1).end};
  }
  /// The keys that every row of a tile sees, of its rows that exist.
  FLASHBOOK_HOST_DEVICE constexpr Range keys_of_all(Range rows) const {
    if (sees_nothing(rows, n_q)) return {0, 0};
    return {keys_of(clamp(rows.end, n_q) - 1).begin, keys_of(rows.begin).end};
  }
  // [/tile_ranges]
  /// The rows that see a key.
  FLASHBOOK_HOST_DEVICE constexpr Range rows_of(int key) const {
    return {clamp(key - diagonal - right, n_q), clamp(key - diagonal + left + 1, n_q)};
  }
  /// The rows that see some key of a tile, which may reach past the last key.
  FLASHBOOK_HOST_DEVICE constexpr Range rows_of(Range keys) const {
    if (sees_nothing(keys, n_k)) return {0, 0};
    return {rows_of(keys.begin).begin, rows_of(clamp(keys.end, n_k) - 1).end};
  }
  /// Full: every row of the tile that exists sees every key of it, and all keys of it exist.
  FLASHBOOK_HOST_DEVICE constexpr TileClass classify(Range rows, Range keys) const {
    const Range some = keys_of(rows);
    if (some.is_empty() || some.end <= keys.begin || keys.end <= some.begin) return TileClass::skip;
    const Range all = keys_of_all(rows);
    return all.begin <= keys.begin && keys.end <= all.end ? TileClass::full : TileClass::partial;
  }

 private:
  FLASHBOOK_HOST_DEVICE static constexpr int clamp(int i, int n) {
    return i < 0 ? 0 : i < n ? i : n;
  }
  /// No row or key of the tile exists, or the window has no width: then unions of ranges mean
  /// nothing.
  FLASHBOOK_HOST_DEVICE constexpr bool sees_nothing(Range tile, int n) const {
    return tile.begin >= n || left + right < 0;
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
