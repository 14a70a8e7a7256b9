// Matrix products of a warpgroup, wgmma m64nNk16. Of its 64 rows each warp holds 16, as mma.cuh's
// fragments: what is done to them between two products is the same.
#pragma once

#include "cuda/rules/blocks.cuh"
#include "cuda/rules/row_blocks.cuh"
#include "cuda/rules/tma_io.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// The accumulators of fragments as wgmma takes them: the same registers in the same order.
template <int n_8>
FLASHBOOK_DEVICE float (&accumulators(float (&x)[1][n_8][4]))[n_8 * 4] {
  return reinterpret_cast<float(&)[n_8 * 4]>(x);
}

/// Weights may grow to 2^slack before the maximum that they are relative to follows.
constexpr int slack = 8;

/// The number of this thread's warpgroup, read from lane 0: so the compiler, too, knows that a warp
/// agrees. Else it takes branches for divergent, and makes every wgmma wait.
FLASHBOOK_DEVICE int warpgroup() {
  return shuffle(static_cast<int>(threadIdx.x) / 128, 0);
}
/// One thread of each warpgroup.
FLASHBOOK_DEVICE bool is_elected() {
  return threadIdx.x % 128 == 0;
}

// [start_QK]
/// Starts S = Q K^T, as a group: the 64 rows of Q from `row` on.
template <class T, int rows, int D, int B_c>
FLASHBOOK_DEVICE void start_QK(float (&S)[1][B_c / 8][4], Tile<T, rows, D, Swizzle128>& Q, int row,
                               Tile<T, B_c, D, Swizzle128>& K) {
  const WgmmaOperand left = wgmma_operand(Q, row, 0), right = wgmma_operand(K, 0, 0);
#pragma unroll
  for (int k = 0; k < D; k += 16)
    wgmma<T>(accumulators(S), wgmma_step(left, Q, 0, k), wgmma_step(right, K, 0, k), k > 0);
  wgmma_commit();
}
// [/start_QK]

/// The rows of Q from `row` on, 16 a warp, as a left operand in registers.
template <class T, int rows, int D>
FLASHBOOK_DEVICE void load_Q(mma::Operand<D>& Q, Tile<T, rows, D, Swizzle128>& from, int row) {
  const int lane = mma::lane();
#pragma unroll
  for (int k = 0; k < D; k += 16)
    ldmatrix_x4(Q[k / 16], from.at(row + mma::warp_row() % 64 + lane % 16, k + lane / 16 * 8));
}
/// The same S, with Q in registers.
template <class T, int D, int B_c>
FLASHBOOK_DEVICE void start_QK(float (&S)[1][B_c / 8][4], const mma::Operand<D>& Q,
                               Tile<T, B_c, D, Swizzle128>& K) {
  const WgmmaOperand right = wgmma_operand(K, 0, 0);
#pragma unroll
  for (int k = 0; k < D; k += 16)
    wgmma<T>(accumulators(S), Q[k / 16], wgmma_step(right, K, 0, k), k > 0);
  wgmma_commit();
}

/// Starts O = P V, or O += P V if `accumulate`, as a group.
template <class T, int D, int B_c>
FLASHBOOK_DEVICE void start_PV(float (&O)[1][D / 8][4], const uint32_t (&P)[1][B_c / 16][4],
                               Tile<T, B_c, D, Swizzle128>& V, bool accumulate = true) {
  const WgmmaOperand right = wgmma_operand(V, 0, 0);
#pragma unroll
  for (int k = 0; k < B_c; k += 16)
    wgmma_trans<T>(accumulators(O), P[0][k / 16], wgmma_step(right, V, k, 0), accumulate || k > 0);
  wgmma_commit();
}

/// S of a tile, products, becomes P = 2^(c (S - m)), and l takes it in. If the maxima follow, O
/// must be multiplied by `factor` before P V is added, and true is returned.
template <int n_8>
FLASHBOOK_DEVICE bool weigh_tile(mma::RowBlocks<1>& rows, float (&S)[1][n_8][4],
                                 float (&factor)[1][2], const Exponents& e) {
  float m_tile[1][2];
  rows.maxima(m_tile, S);
  const bool follows = rows.any_above(m_tile, slack / e.c);
  if (follows) rows.follow(m_tile, factor, e);
  rows.weigh(S, e);
  return follows;
}

/// Columns [8 from, 8 to) of S.
template <int from, int to, int n_8>
FLASHBOOK_DEVICE float (&columns(float (&S)[1][n_8][4]))[1][to - from][4] {
  return reinterpret_cast<float(&)[1][to - from][4]>(S[0][from]);
}

/// S becomes P = 2^(c S - M), of which l gets the sums.
template <int n_8>
FLASHBOOK_DEVICE void weigh(float (&S)[1][n_8][4], float c, const float (&M)[2], float (&l)[2]) {
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      S[0][n][i] = exp2_approx(fmaf(c, S[0][n][i], -M[i / 2]));
      l[i / 2] += S[0][n][i];
    }
}

/// B_r rows of queries of a head, and the keys that they see, in tiles of B_c from the last: tile t
/// holds the keys from end - (t + 1) B_c on. The last one may begin before key 0.
template <int B_r, int B_c>
struct RowTile {
  int first, head, kv_head, batch;
  int end;  ///< of the keys that some row sees

  /// Of block `block`.
  FLASHBOOK_DEVICE RowTile(unsigned block, const Sizes& sizes) {
    const HeadTile tile = longest_first(block, sizes.visible, B_r, sizes.heads_q);
    first = tile.first;
    head = tile.head;
    kv_head = head / sizes.group();
    batch = tile.batch;
    end = sizes.visible.keys_of(Range{first, first + B_r}).end;
  }
  FLASHBOOK_DEVICE int key_tiles() const { return tiles(end, B_c); }
  FLASHBOOK_DEVICE int first_key(int t) const { return end - (t + 1) * B_c; }
};

/// Where the keys end that each of the rows sees; none, if masking also scales.
FLASHBOOK_DEVICE int full_keys_end(const Exponents& e, const Visible& visible, Range rows) {
  return e.folded() ? visible.keys_of_all(rows).end : 0;
}

/// Multiplies products by e.first and hides those of keys that a row does not see, or that come
/// before key 0, in the rows `row` and `row` + 8.
template <int n_8>
FLASHBOOK_DEVICE void mask_ends(float (&S)[1][n_8][4], const Exponents& e, const Visible& visible,
                                int row, int first_key) {
  mask(S[0], e, visible, row, first_key);
  const int begin = -first_key - mma::lane() % 4 * 2;
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (8 * n + i % 2 < begin) S[0][n][i] = -INFINITY;
}

/// The rows of a warpgroup: 64 of the tile, from row `in_tile` of it on.
struct WarpgroupRows {
  const Visible& visible;
  Exponents e;
  int in_tile, row;  ///< row: this thread's first; the other is row + 8
  int full_end;      ///< of the keys that each of the 64 rows sees; 0 if masking also scales

  template <class RowTile>
  FLASHBOOK_DEVICE WarpgroupRows(const Sizes& sizes, const RowTile& tile, int number)
      : visible(sizes.visible), e(sizes.scale), in_tile(64 * number) {
    const int first = tile.first + in_tile;
    row = first + mma::warp_row() % 64 + mma::lane() / 4;
    full_end = full_keys_end(e, visible, {first, first + 64});
  }
  /// Whether all rows see all of the n keys from first_key on.
  FLASHBOOK_DEVICE bool see_all(int first_key, int n) const {
    return first_key >= 0 && first_key + n <= full_end;
  }
  /// Masks a tile of S if anything of it is hidden.
  template <int n_8>
  FLASHBOOK_DEVICE void mask(float (&S)[1][n_8][4], int first_key) const {
    if (!see_all(first_key, 8 * n_8)) mask_ends(S, e, visible, row, first_key);
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
