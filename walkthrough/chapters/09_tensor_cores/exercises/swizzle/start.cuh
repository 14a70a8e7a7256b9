#pragma once

struct MySwizzle {
  static constexpr int alignment = 128;

  /// Where in its row the tile keeps chunk `chunk` of `row`: from 0 to chunks_per_row - 1. A row
  /// has 2, 4, 8 or 16 chunks.
  template <int chunks_per_row>
  static constexpr int chunk(int row, int chunk) {
    return chunk ^ (row % 8 % chunks_per_row);
  }
};
