#pragma once

struct MySwizzle {
  static constexpr int alignment = 128;

  /// Rows that lie in the same 128 bytes are in different banks already, and may be exchanged by
  /// the same number; the next 128 bytes need another one.
  template <int chunks_per_row>
  static constexpr int chunk(int row, int chunk) {
    constexpr int places = chunks_per_row < 8 ? chunks_per_row : 8, rows_abreast = 8 / places;
    return chunk ^ (row / rows_abreast % places);
  }
};
