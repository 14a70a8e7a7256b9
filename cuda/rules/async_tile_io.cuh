// Tiles from global memory to shared memory by cp.async. What was copied is there after a commit, a
// wait for it and a barrier.
#pragma once

#include "cuda/rules/tile_io.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// How the threads of a block share a tile in chunks of 16 bytes: each has one column of chunks,
/// or, where a row is no power of 2 of them, one in each piece of the row that is.
template <class T, int threads, int columns>
struct ChunkShare {
  static constexpr int chunk = 16 / sizeof(T), per_row = columns / chunk;
  static constexpr int per_piece = per_row & -per_row, step = threads / per_piece;
  static constexpr int piece = per_piece * chunk;  ///< in columns
  static_assert(threads % per_piece == 0);

  FLASHBOOK_DEVICE static int row() { return threadIdx.x / per_piece; }
  FLASHBOOK_DEVICE static int column() { return threadIdx.x % per_piece * chunk; }
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
#pragma unroll
  for (int i = 0; i < rows; i += Share::step) {
#pragma unroll
    for (int piece = 0; piece < columns; piece += Share::piece)
      cp_async_16(tile.at(Share::row() + i, Share::column() + piece), source + piece,
                  Share::column() + piece < from.columns && valid(Share::row() + i));
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

}  // namespace flashbook::FLASHBOOK_MACHINE
