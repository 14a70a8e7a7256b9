#pragma once

/// Row i sees keys i + diagonal - left to i + diagonal + right.
struct Mask {
  int n_q, n_k, diagonal, left, right;
};

/// [begin, end); a tile may reach past the last row and the last key.
struct Range {
  int begin, end;
};

/// Whether every row of the tile that exists sees all its keys, and all of them exist.
inline bool whole(const Mask& mask, Range rows, Range keys) {
  return keys.end - 1 <= rows.begin + mask.right;
}
