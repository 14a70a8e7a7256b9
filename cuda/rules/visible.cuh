// Which keys a query row sees, as ranges: what a kernel needs to skip tiles, to leave the mask test
// out where everything is visible, and to mask the rest. docs/contract.md, "Visibility".
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// [begin, end); empty where end <= begin.
struct Range {
  int begin, end;

  FLASHBOOK_HOST_DEVICE constexpr bool is_empty() const { return end <= begin; }
  FLASHBOOK_HOST_DEVICE constexpr bool holds(int i) const { return begin <= i && i < end; }
};

/// Sizes of a problem and its window are at most this, so that sums of two fit an int. A side of
/// the window that is larger hides nothing and counts as this.
constexpr int most_tokens = (1 << 30) - 1;

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
  /// The keys that some row of [rows.begin, rows.end) sees, or lie between such keys.
  FLASHBOOK_HOST_DEVICE constexpr Range keys_of(Range rows) const {
    return {keys_of(rows.begin).begin, keys_of(rows.end - 1).end};
  }
  /// The rows that see a key.
  FLASHBOOK_HOST_DEVICE constexpr Range rows_of(int key) const {
    return {clamp(key - diagonal - right, n_q), clamp(key - diagonal + left + 1, n_q)};
  }
  FLASHBOOK_HOST_DEVICE constexpr Range rows_of(Range keys) const {
    return {rows_of(keys.begin).begin, rows_of(keys.end - 1).end};
  }
  /// A tile may reach past the last row or key; what is past the last key is not visible.
  FLASHBOOK_HOST_DEVICE constexpr TileClass classify(Range rows, Range keys) const {
    const Range last = {keys_of(rows.end - 1).begin, keys_of(rows.begin).end};
    if (last.begin <= keys.begin && keys.end <= last.end) return TileClass::full;
    const Range some = keys_of(rows);
    return some.is_empty() || some.end <= keys.begin || keys.end <= some.begin ? TileClass::skip
                                                                               : TileClass::partial;
  }

 private:
  FLASHBOOK_HOST_DEVICE static constexpr int clamp(int i, int n) {
    return i < 0 ? 0 : i < n ? i : n;
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
