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

/// How the threads of a block share a tile in chunks of 16 bytes: each has one column of chunks.
template <class T, int threads, int columns>
struct ChunkShare {
  static constexpr int chunk = 16 / sizeof(T), per_row = columns / chunk, step = threads / per_row;
  static_assert(threads % per_row == 0);

  FLASHBOOK_DEVICE static int row() { return threadIdx.x / per_row; }
  FLASHBOOK_DEVICE static int column() { return threadIdx.x % per_row * chunk; }
  /// This thread's first chunk of the rows from `first` on.
  FLASHBOOK_DEVICE static gmem<const T> source(const Matrix<const T>& from, int first) {
    return from.row(first + row()) + column();
  }
};

/// Rows of a matrix into a tile by cp.async, as load_chunks: they are there after a commit, a wait
/// and a barrier. `source` is this thread's first chunk.
template <int threads, int columns, class T, int rows, int width, class Swizzle, class Valid>
FLASHBOOK_DEVICE void copy_chunks_async(Tile<T, rows, width, Swizzle>& tile, gmem<const T> source,
                                        const Matrix<const T>& from, const Valid& valid) {
  using Share = ChunkShare<T, threads, columns>;
  static_assert(rows % Share::step == 0);
  const bool exists = Share::column() < from.columns;
#pragma unroll
  for (int i = 0; i < rows; i += Share::step) {
    cp_async_16(tile.at(Share::row() + i, Share::column()), source,
                exists && valid(Share::row() + i));
    source = source + Share::step * from.stride;
  }
}

/// The same from row `first` on. Zeros where not valid.holds(row).
template <int threads, int columns, class T, int rows, int width, class Swizzle>
FLASHBOOK_DEVICE void load_chunks_async(Tile<T, rows, width, Swizzle>& tile,
                                        const Matrix<const T>& from, int first, Range valid) {
  copy_chunks_async<threads, columns>(tile, ChunkShare<T, threads, columns>::source(from, first),
                                      from, [&](int i) { return valid.holds(first + i); });
}

/// As load, but by cp.async where the matrix is in chunks.
template <int threads, int columns, class T, int rows, int width, class Swizzle,
          class Valid = Range>
FLASHBOOK_DEVICE void load_async(Tile<T, rows, width, Swizzle>& tile, const Matrix<const T>& from,
                                 int first, const Valid& valid) {
  if (from.in_chunks)
    load_chunks_async<threads, columns>(tile, from, first, valid);
  else
    load_elements<threads, columns>(tile, from, first, valid);
}

/// The same of rows that all exist, in chunks: nothing is tested.
template <int threads, int columns, class T, int rows, int width, class Swizzle>
FLASHBOOK_DEVICE void load_full_async(Tile<T, rows, width, Swizzle>& tile,
                                      const Matrix<const T>& from, int first) {
  copy_chunks_async<threads, columns>(tile, ChunkShare<T, threads, columns>::source(from, first),
                                      from, [](int) { return true; });
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
