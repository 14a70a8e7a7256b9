// O and LSE of a warp's 16 rows, for kernels that do little else between two tiles of rows.
#pragma once

#include "cuda/rules/exp2.cuh"

namespace flashbook::FLASHBOOK_MACHINE::mma {

/// Exchanges two words between lanes whose numbers differ in `bit`: the upper one's first for the
/// lower one's second.
FLASHBOOK_DEVICE void exchange(uint32_t& first, uint32_t& second, int bit) {
  const bool upper = lane() & bit;
  const uint32_t other = shuffle_xor(upper ? first : second, bit);
  first = upper ? other : first;
  second = upper ? second : other;
}
/// Among 4 neighbouring lanes, lane q's w[i] becomes lane i's w[q].
FLASHBOOK_DEVICE void transpose_quad(uint32_t (&w)[4]) {
  exchange(w[0], w[1], 1);
  exchange(w[2], w[3], 1);
  exchange(w[0], w[2], 2);
  exchange(w[1], w[3], 2);
}

/// Row h of O times `factor`, rounded to T, 16 bytes a lane: whole sectors. All lanes come, also
/// those whose row does not exist.
template <class T, int n_8>
FLASHBOOK_DEVICE void store_row_in_chunks(const Matrix<T>& to, int row, bool exists,
                                          const float (&O)[n_8][4], int h, float factor) {
  const int first = lane() % 4 * 8;
  const gmem<T> O_row = to.row(exists ? row : 0) + first;
#pragma unroll
  for (int n = 0; n < n_8; n += 4) {
    uint32_t w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      w[i] = pack<T>(factor * O[n + i][2 * h], factor * O[n + i][2 * h + 1]);
    transpose_quad(w);
    if (exists && 8 * n + first < to.columns)
      store_vector(O_row + 8 * n, uint4{w[0], w[1], w[2], w[3]});
  }
}

/// What store_rows (mma.cuh) does, but in chunks, if O lies so. Rows that saw nothing are rare, and
/// have their O selected away in a branch.
template <class T, int n_8>
FLASHBOOK_DEVICE void store_rows_in_chunks(const ForwardParameters<T>& p, int batch, int head,
                                           int row, float (&O)[n_8][4], RowState (&state)[2],
                                           float scale) {
  const Matrix<T> to = p.O.of(batch, head);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int i = row + 8 * h;
    const bool exists = i < p.sizes.n_q();
    state[h].l = lanes_sum<4>(state[h].l);
    if (!to.in_chunks || any(state[h].l == 0)) {
      normalise_row(O, h, state[h]);
      if (exists) store_row(to, i, O, h);
    } else {
      store_row_in_chunks(to, i, exists, O, h, 1 / state[h].l);
    }
    if (exists && lane() % 4 == 0)
      p.lse(p.sizes.lse_row(batch, head) + i) = scale * state[h].m + logf(state[h].l);
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE::mma
