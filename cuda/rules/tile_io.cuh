// Tiles from global memory to shared memory, and results back.
#pragma once

#include "cuda/rules/parameters.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Rows first, first + 1, ... of a matrix into the `columns` leading columns of a tile, converted
/// to its type. Zeros where not valid.holds(row), or a column is past the last: what lies there in
/// memory may be NaN, and 0 times NaN is NaN. A warp reads neighbours, so its loads coalesce.
template <int threads, int columns, class T, class U, int rows, int width, class Swizzle,
          class Valid = Range>
FLASHBOOK_DEVICE void load_elements(Tile<U, rows, width, Swizzle>& tile,
                                    const Matrix<const T>& from, int first, const Valid& valid) {
#pragma unroll 4
  for (int e = threadIdx.x; e < rows * columns; e += threads) {
    const int i = e / columns, c = e % columns;
    float x = 0;
    if (valid.holds(first + i) && c < from.columns) x = to_float(T(from.row(first + i)(c)));
    tile(i, c) = from_float<U>(x);
  }
}

/// The same 16 bytes at a time, for tiles of the matrix's type.
template <int threads, int columns, class T, int rows, int width, class Swizzle,
          class Valid = Range>
FLASHBOOK_DEVICE void load_chunks(Tile<T, rows, width, Swizzle>& tile, const Matrix<const T>& from,
                                  int first, const Valid& valid) {
  constexpr int chunk = 16 / sizeof(T), per_row = columns / chunk;
#pragma unroll 4
  for (int e = threadIdx.x; e < rows * per_row; e += threads) {
    const int i = e / per_row, c = e % per_row * chunk;
    uint4 x = {0, 0, 0, 0};
    if (valid.holds(first + i) && c < from.columns) x = load_vector<uint4>(from.row(first + i) + c);
    store_vector(tile.at(i, c), x);
  }
}

/// As the matrix allows: the same for all threads.
template <int threads, int columns, class T, int rows, int width, class Swizzle,
          class Valid = Range>
FLASHBOOK_DEVICE void load(Tile<T, rows, width, Swizzle>& tile, const Matrix<const T>& from,
                           int first, const Valid& valid) {
  if (from.in_chunks)
    load_chunks<threads, columns>(tile, from, first, valid);
  else
    load_elements<threads, columns>(tile, from, first, valid);
}

/// Four neighbours, rounded to T, in one access. The address is a multiple of its size.
FLASHBOOK_DEVICE void store_four(gmem<float> to, float a, float b, float c, float d) {
  store_vector(to, float4{a, b, c, d});
}
template <Element16 T>
FLASHBOOK_DEVICE void store_four(gmem<T> to, float a, float b, float c, float d) {
  store_vector(to, uint2{pack<T>(a, b), pack<T>(c, d)});
}

}  // namespace flashbook::FLASHBOOK_MACHINE
