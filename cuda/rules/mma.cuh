// Matrix products of a warp on tensor cores, mma m16n8k16. A warp computes rows in blocks of 16. Of
// a result of 16 x 8 a lane holds two columns of the rows lane / 4 and lane / 4 + 8
// (cuda/isa/tensor_core.cuh): 4 lanes share a row.
#pragma once

#include "cuda/rules/softmax.cuh"
#include "cuda/rules/tile_io.cuh"

namespace flashbook::FLASHBOOK_MACHINE::mma {

/// This lane's part of 16 rows of n columns, fp32: [n / 8][row, row, row + 8, row + 8].
template <int n>
using Fragments = float[n / 8][4];

/// This lane's part of a left operand, 16 rows of n columns of 16 bits.
template <int n>
using Operand = uint32_t[n / 16][4];

FLASHBOOK_DEVICE int lane() {
  return threadIdx.x % 32;
}
/// The first of this warp's rows of a tile.
FLASHBOOK_DEVICE int warp_row() {
  return threadIdx.x / 32 * 16;
}

// [operands]
/// The columns k to k + 15 of 16 rows of a tile, as a left operand. `row` and `down` add up to the
/// first row; `down` and k are known to the compiler.
template <class Tile>
FLASHBOOK_DEVICE void load_left(uint32_t (&a)[4], Tile& tile, int row, int down, int k) {
  ldmatrix_x4(a, tile.at(row + lane() % 16, lane() / 16 * 8, down, k));
}
/// Of K^T: rows (channels) k to k + 15, columns (keys) n to n + 15.
template <class Tile>
FLASHBOOK_DEVICE void load_K(uint32_t (&b)[4], Tile& K, int n, int k) {
  ldmatrix_x4(b, K.at(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2 * 8, n, k));
}
/// Of V: rows (keys) k to k + 15, columns (channels) n to n + 15.
template <class Tile>
FLASHBOOK_DEVICE void load_V(uint32_t (&b)[4], Tile& V, int k, int n) {
  ldmatrix_x4_trans(b, V.at(lane() % 16, lane() / 16 * 8, k, n));
}
// [/operands]

// [multiply_QK]
/// S += Q K^T over the channels k to k + 15; `a` holds them of Q.
template <class T, int n_8, class K_tile>
FLASHBOOK_DEVICE void add_QK(float (&S)[n_8][4], const uint32_t (&a)[4], K_tile& K, int k) {
#pragma unroll
  for (int n = 0; n < n_8; n += 2) {
    uint32_t b[4];
    load_K(b, K, n * 8, k);
    mma_m16n8k16<T>(S[n], a, b[0], b[1]);
    mma_m16n8k16<T>(S[n + 1], a, b[2], b[3]);
  }
}

/// S += Q K^T, Q from shared memory.
template <class T, int D, int n_8, class Q_tile, class K_tile>
FLASHBOOK_DEVICE void add_QK(float (&S)[n_8][4], Q_tile& Q, K_tile& K) {
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    uint32_t a[4];
    load_left(a, Q, warp_row(), 0, k);
    add_QK<T>(S, a, K, k);
  }
}
// [/multiply_QK]

// [add_PV]
/// O += P V. The result of one product is the operand of the next: both hold the same elements.
template <class T, int D, int n_8, class V_tile>
FLASHBOOK_DEVICE void add_PV(Fragments<D>& O, const float (&P)[n_8][4], V_tile& V) {
#pragma unroll
  for (int k = 0; k < n_8; k += 2) {
    const uint32_t a[4] = {pack<T>(P[k][0], P[k][1]), pack<T>(P[k][2], P[k][3]),
                           pack<T>(P[k + 1][0], P[k + 1][1]), pack<T>(P[k + 1][2], P[k + 1][3])};
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
      uint32_t b[4];
      load_V(b, V, k * 8, n * 8);
      mma_m16n8k16<T>(O[n], a, b[0], b[1]);
      mma_m16n8k16<T>(O[n + 1], a, b[2], b[3]);
    }
  }
}
// [/add_PV]

/// Row h (0: lane / 4, 1: lane / 4 + 8) of O, rounded to T, to a row of a matrix.
template <class T, int n_8>
FLASHBOOK_DEVICE void store_row(const Matrix<T>& to, int row, const float (&O)[n_8][4], int h) {
  const gmem<T> O_row = to.row(row);
#pragma unroll
  for (int n = 0; n < n_8; ++n) {
    const int column = n * 8 + lane() % 4 * 2;
    if (to.in_chunks) {
      if (column < to.columns) store_vector(O_row + column, pack<T>(O[n][2 * h], O[n][2 * h + 1]));
    } else {
      if (column < to.columns) O_row(column) = from_float<T>(O[n][2 * h]);
      if (column + 1 < to.columns) O_row(column + 1) = from_float<T>(O[n][2 * h + 1]);
    }
  }
}

template <int n_8>
FLASHBOOK_DEVICE void clear(float (&S)[n_8][4]) {
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) S[n][i] = 0;
}

/// The maximum of row h of S, in all lanes that share it.
template <int n_8>
FLASHBOOK_DEVICE float row_max(const float (&S)[n_8][4], int h) {
  float m = -INFINITY;
#pragma unroll
  for (int n = 0; n < n_8; ++n) m = fmaxf(m, fmaxf(S[n][2 * h], S[n][2 * h + 1]));
  return lanes_max<4>(m);
}

/// Row h of O times a factor.
template <int n_8>
FLASHBOOK_DEVICE void multiply_row(float (&O)[n_8][4], int h, float factor) {
#pragma unroll
  for (int n = 0; n < n_8; ++n) {
    O[n][2 * h] *= factor;
    O[n][2 * h + 1] *= factor;
  }
}

/// Row h of O divided by l; 0 if the row saw nothing, though 0 times what V holds may be NaN.
template <int n_8>
FLASHBOOK_DEVICE void normalise_row(float (&O)[n_8][4], int h, const RowState& state) {
  const float factor = state.normalised(1);
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) O[n][i] = state.l == 0 ? 0 : O[n][i] * factor;
}

/// O = O / l and LSE = scale m + ln l of the rows row and row + 8; l is still this lane's part.
template <class T, int n_8>
FLASHBOOK_DEVICE void store_rows(const ForwardParameters<T>& p, int batch, int head, int row,
                                 float (&O)[n_8][4], RowState (&state)[2], float scale) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int i = row + 8 * h;
    state[h].l = lanes_sum<4>(state[h].l);
    if (i >= p.sizes.n_q()) continue;
    normalise_row(O, h, state[h]);
    store_row(p.O.of(batch, head), i, O, h);
    if (lane() % 4 == 0)
      p.lse(p.sizes.lse_row(batch, head) + i) = scale * state[h].m + logf(state[h].l);
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE::mma
