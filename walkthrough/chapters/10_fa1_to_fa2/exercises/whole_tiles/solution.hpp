#pragma once

#include <algorithm>

/// Row i sees keys i + diagonal - left to i + diagonal + right.
struct Mask {
  int n_q, n_k, diagonal, left, right;
};

/// [begin, end); a tile may reach past the last row and the last key.
struct Range {
  int begin, end;
};

/// Whether every row of the tile that exists sees all its keys, and all of them exist. The first
/// row sees least to the right, the last one that exists least to the left.
inline bool whole(const Mask& mask, Range rows, Range keys) {
  const int last_row = std::min(rows.end, mask.n_q) - 1;
  return keys.end <= mask.n_k && keys.end - 1 <= rows.begin + mask.diagonal + mask.right &&
         keys.begin >= last_row + mask.diagonal - mask.left;
}
