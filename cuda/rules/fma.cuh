// Matrix products of a block by plain multiply-adds, fp32. A block is 128 threads in 16 columns and
// 8 rows. Thread (x, y) computes the rows 4y ... 4y + 3 of a product of 32 rows, and of its columns
//   x, x + 16, x + 32, ...                      of A B^T, where it reads rows of B, or
//   4x ... 4x + 3, 4x + 64 ... 4x + 67, ...     of A B, where it reads columns of B.
// The 16 threads of a row are half a warp.
#pragma once

#include "cuda/rules/softmax.cuh"
#include "cuda/rules/tile_io.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fma {

// [shape]
constexpr int threads = 128, x_threads = 16, rows = 32, thread_rows = 4;

/// A tile of floats. Padded: rows begin 4 banks after one another, so that 16-byte reads of a
/// column of 8 rows come from all 32 banks.
constexpr int padding = 4;
template <int tile_rows, int columns>
using Tile = FLASHBOOK_MACHINE::Tile<float, tile_rows, columns + padding>;

/// Keys of a tile beside rows of D channels: K and V take 16 KiB each, whatever D.
template <int D>
constexpr int tile_keys = 4096 / D;

FLASHBOOK_DEVICE int x() {
  return threadIdx.x % x_threads;
}
/// The r-th row of this thread.
FLASHBOOK_DEVICE int row(int r) {
  return threadIdx.x / x_threads * thread_rows + r;
}
/// The c-th column of this thread in A B^T.
FLASHBOOK_DEVICE int key(int c) {
  return x() + x_threads * c;
}
// [/shape]
/// The first of the n-th four columns of this thread in A B.
FLASHBOOK_DEVICE int channel(int n) {
  return 4 * (x() + x_threads * n);
}

template <class T, int tile_rows, int width, class Valid = Range>
FLASHBOOK_DEVICE void load(FLASHBOOK_MACHINE::Tile<float, tile_rows, width>& tile,
                           const Matrix<const T>& from, int first, const Valid& valid) {
  load_elements<threads, width - padding>(tile, from, first, valid);
}

/// S += A B^T over the columns before `depth`; the tiles hold zeros up to a multiple of 4.
template <int n, int A_rows, int B_rows, int width>
FLASHBOOK_DEVICE void add_product_transposed(float (&S)[thread_rows][n],
                                             FLASHBOOK_MACHINE::Tile<float, A_rows, width>& A,
                                             FLASHBOOK_MACHINE::Tile<float, B_rows, width>& B,
                                             int depth) {
#pragma unroll 2
  for (int k = 0; k < depth; k += 4) {
    float4 b[n];
#pragma unroll
    for (int c = 0; c < n; ++c) b[c] = load_vector<float4>(B.at(key(c), k));
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
      const float4 a = load_vector<float4>(A.at(row(r), k));
#pragma unroll
      for (int c = 0; c < n; ++c)
        S[r][c] += a.x * b[c].x + a.y * b[c].y + a.z * b[c].z + a.w * b[c].w;
    }
  }
}

/// O[r] += a b, where b holds columns channel(0), channel(0) + 1, ... of a row of B.
template <int n>
FLASHBOOK_DEVICE void add_row(float (&O)[n], float a, const float4 (&b)[n / 4]) {
#pragma unroll
  for (int c = 0; c < n / 4; ++c) {
    O[4 * c] += a * b[c].x;
    O[4 * c + 1] += a * b[c].y;
    O[4 * c + 2] += a * b[c].z;
    O[4 * c + 3] += a * b[c].w;
  }
}

/// O += columns k to k + 3 of A, or the first `count` of them, times those rows of B.
template <int n, int A_width, int depth, int B_width>
FLASHBOOK_DEVICE void add_four(float (&O)[thread_rows][n],
                               FLASHBOOK_MACHINE::Tile<float, rows, A_width>& A,
                               FLASHBOOK_MACHINE::Tile<float, depth, B_width>& B, int k,
                               int count) {
  float4 a[thread_rows];
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) a[r] = load_vector<float4>(A.at(row(r), k));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i >= count) break;
    float4 b[n / 4];
#pragma unroll
    for (int c = 0; c < n / 4; ++c) b[c] = load_vector<float4>(B.at(k + i, channel(c)));
#pragma unroll
    for (int r = 0; r < thread_rows; ++r)
      add_row(O[r], i == 0 ? a[r].x : i == 1 ? a[r].y : i == 2 ? a[r].z : a[r].w, b);
  }
}

/// O += A B.
template <int n, int A_width, int depth, int B_width>
FLASHBOOK_DEVICE void add_product(float (&O)[thread_rows][n],
                                  FLASHBOOK_MACHINE::Tile<float, rows, A_width>& A,
                                  FLASHBOOK_MACHINE::Tile<float, depth, B_width>& B) {
  for (int k = 0; k < depth; k += 4) add_four(O, A, B, k, 4);
}

/// The same without the rows of B from `end` on, whatever they hold.
template <int n, int A_width, int depth, int B_width>
FLASHBOOK_DEVICE void add_product_before(int end, float (&O)[thread_rows][n],
                                         FLASHBOOK_MACHINE::Tile<float, rows, A_width>& A,
                                         FLASHBOOK_MACHINE::Tile<float, depth, B_width>& B) {
  for (int k = 0; k < depth && k < end; k += 4) add_four(O, A, B, k, end - k);
}

/// Columns channel(n) to channel(n) + 3, for all n, of row i of a matrix, rounded to its type.
template <int n, class T>
FLASHBOOK_DEVICE void store_row(const Matrix<T>& to, int i, const float (&O)[n]) {
  const gmem<T> row = to.row(i);
#pragma unroll
  for (int c = 0; c < n; c += 4) {
    const int column = channel(c / 4);
    if (to.in_chunks) {
      if (column < to.columns) store_four(row + column, O[c], O[c + 1], O[c + 2], O[c + 3]);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (column + e < to.columns) row(column + e) = from_float<T>(O[c + e]);
    }
  }
}

/// factor times the rows of O, to the rows from `first` on of a matrix that has `end`.
template <int n, class T>
FLASHBOOK_DEVICE void store_rows(const Matrix<T>& to, int first, int end,
                                 float (&O)[thread_rows][n], float factor) {
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
    if (first + row(r) >= end) continue;
#pragma unroll
    for (float& o : O[r]) o *= factor;
    store_row(to, first + row(r), O[r]);
  }
}

/// S = scale S where a row sees the key, else -inf. The tile of S begins at (first_row, first_key).
template <int n>
FLASHBOOK_DEVICE void mask(float (&S)[thread_rows][n], const Sizes& sizes, int first_row,
                           int first_key) {
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
    const Range keys = sizes.visible.keys_of(first_row + row(r));
#pragma unroll
    for (int c = 0; c < n; ++c) S[r][c] = score(S[r][c], sizes.scale, keys, first_key + key(c));
  }
}

/// Writes P, rounded to T, where A B reads it.
template <class T, int n, int width>
FLASHBOOK_DEVICE void store_weights(FLASHBOOK_MACHINE::Tile<float, rows, width>& tile,
                                    const float (&P)[thread_rows][n]) {
#pragma unroll
  for (int r = 0; r < thread_rows; ++r)
#pragma unroll
    for (int c = 0; c < n; ++c) tile(row(r), key(c)) = to_float(from_float<T>(P[r][c]));
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fma
