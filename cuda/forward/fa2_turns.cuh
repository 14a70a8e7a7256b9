// The product kernel where scores are products and two groups of four warps in turns on the tensor
// cores are faster than blocks that know nothing of each other: rows of up to 64 channels, and of
// more than 128. A turn is O += P V of the tile before and S = Q K^T of this one, as in the rung
// ping_pong, and hands over what both groups copied.
#pragma once

#include "cuda/rules/async_tile_io.cuh"
#include "cuda/rules/product.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fa2 {

/// Rows of up to `d` channels: R blocks of 16 rows a warp, tiles of B_c keys.
template <int d>
struct Turns {
  static constexpr int D = d, R = d <= 64 ? 2 : 1, B_c = d <= 64 ? 64 : 32, stages = 3;
  static constexpr int group_threads = 128, threads = 256;
  static constexpr int group_rows = 64 * R, B_r = 2 * group_rows;
  static constexpr bool keeps_Q = R == 1;  ///< in registers, which spares a fifth of ldmatrix

  template <class T>
  struct Smem {
    Tile<T, B_r, D, XorSwizzle> Q;
    Tile<T, B_c, D, XorSwizzle> K[stages], V[stages];
    WorkTiles work;
  };
  /// The stage of the tile `ahead` tiles after the one of stage `stage`.
  FLASHBOOK_DEVICE static int stage_after(int stage, int ahead) {
    return stage + ahead < stages ? stage + ahead : stage + ahead - stages;
  }
};

/// The rows of Q of a warp, from `row` on, as left operands.
template <int D, int R, class Q_tile>
FLASHBOOK_DEVICE void load_Q(uint32_t (&Q)[R][D / 16][4], Q_tile& tile, int row) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int k = 0; k < D; k += 16) mma::load_left(Q[r][k / 16], tile, row, 16 * r, k);
}
/// S = Q K^T, Q from registers.
template <class T, int D, int R, int n_8, class K_tile>
FLASHBOOK_DEVICE void multiply_QK(float (&S)[R][n_8][4], const uint32_t (&Q)[R][D / 16][4],
                                  K_tile& K) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    mma::clear(S[r]);
#pragma unroll
    for (int k = 0; k < D; k += 16) mma::add_QK<T>(S[r], Q[r][k / 16], K, k);
  }
}

/// A barrier opens a group's turn: the group waits, the other one arrives.
enum Barrier { turn_of_group_0 = 1, turn_of_group_1 };

template <class T, class S>
FLASHBOOK_KERNEL(S::threads, 1)
forward_in_turns(const ProductParameters<T> p) {
  constexpr int D = S::D, R = S::R, B_r = S::B_r, B_c = S::B_c;
  constexpr int threads = S::threads, stages = S::stages;
  auto& smem = shared_memory<typename S::template Smem<T>>();
  const Assignment<T> block(smem.work, p, B_r);
  if (block.work().is_nothing()) return;
  const int group = shuffle(static_cast<int>(threadIdx.x) / S::group_threads, 0);
  const int warp_row = threadIdx.x / 32 * 16 * R, lane_row = warp_row + mma::lane() / 4;
  const auto keys = [&] { return block.visible().keys_of(block.rows(0, B_r)); };
  const auto group_rows = [&] {
    return block.rows(group * S::group_rows, (group + 1) * S::group_rows);
  };
  const int end = keys().begin / B_c * B_c;  // the last tile: the first is that of the last keys
  const int seen_end = block.visible().keys_of(group_rows()).end;
  int j = (tiles(keys().end, B_c) - 1) * B_c, stage = 0;

  float O[R][D / 8][4] = {};
  uint32_t P[R][B_c / 16][4] = {};
  mma::RowBlocks<R> rows;
  rows.by_product = false;  // no maximum stands yet
  load_chunks_async<threads, D>(smem.Q, block.Q(), block.work().first, {0, block.work().n_q});
#pragma unroll
  for (int t = 0; t < stages - 1; ++t) {
    const int first = j - t * B_c;
    if (first >= end) load_chunks_async<threads, D>(smem.K[t], block.K(), first, keys());
    if (0 < t && first + B_c >= end)
      load_chunks_async<threads, D>(smem.V[t - 1], block.V(), first + B_c, keys());
    cp_async_commit();
  }
  using Share = ChunkShare<T, threads, D>;
  gmem<const T> K_next, V_next;  // this thread's part of what is copied next
  if (j >= end) {
    K_next = Share::source(block.K(), j - (stages - 1) * B_c);
    V_next = Share::source(block.V(), j - (stages - 2) * B_c);
  }
  cp_async_wait<0>();
  sync_threads();  // Q and the first K and V are everybody's
  if (group == 1) barrier_arrive(turn_of_group_0, threads);
  uint32_t Q[R][D / 16][4];
  if constexpr (S::keeps_Q) load_Q<D>(Q, smem.Q, warp_row);

  const auto copy_next = [&](auto is_full) {
    const auto copy = [&](auto& to, gmem<const T>& source, const Matrix<const T>& from, int first) {
      if (first >= end) {
        if constexpr (is_full)
          copy_chunks_async<threads, D>(to, source, from, [](int) { return true; });
        else
          load_chunks_async<threads, D>(to, from, first, keys());
      }
      source = source + -(B_c * from.stride);
    };
    const int next = j - (stages - 1) * B_c;  // of K; V is a tile behind
    copy(smem.K[S::stage_after(stage, stages - 1)], K_next, block.K(), next);
    copy(smem.V[S::stage_after(stage, stages - 2)], V_next, block.V(), next + B_c);
    cp_async_commit();
  };

  const auto add_tile = [&](auto is_full) {
    float S_rmem[R][B_c / 8][4];
    const bool seen = is_full || j < seen_end;
    barrier_sync(turn_of_group_0 + group, threads);  // this group's turn
    if (is_full || j + B_c < seen_end)
      mma::add_PV<T, D>(O, P, smem.V[S::stage_after(stage, stages - 1)]);
    if constexpr (S::keeps_Q) {
      if (seen) multiply_QK<T, D>(S_rmem, Q, smem.K[stage]);
    } else {
      if (seen) mma::multiply_QK<T, D>(S_rmem, smem.Q, warp_row, smem.K[stage]);
    }
    cp_async_wait<0>();
    barrier_arrive(turn_of_group_1 - group, threads);
    copy_next(is_full);
    if (seen) {
      bool weighed = false;
      if constexpr (is_full) {
        weighed = rows.by_product && rows.template weigh_standing<T>(P, S_rmem, p.e);
      } else {
#pragma unroll
        for (int r = 0; r < R; ++r)
          for_visible(S_rmem[r], block.visible(), block.work().first + lane_row + 16 * r, j,
                      [](float s, int, int) { return s; });
      }
      if (!weighed) rows.template weigh_anew<T>(P, S_rmem, O, p.e);
    }
    j -= B_c;
    stage = S::stage_after(stage, 1);
  };
  while (j >= end) {
    const Range full = block.visible().keys_of_all(group_rows());
    // Left of a window's begin, V of the next tile must be tested, too.
    const int full_begin = full.begin == 0 ? 0 : full.begin + B_c;
    if (full_begin <= j && j + B_c <= full.end && j + B_c < seen_end)
      while (j >= full_begin) add_tile(std::true_type());
    else
      add_tile(std::false_type());
  }

  barrier_sync(turn_of_group_0 + group, threads);  // the last turn
  if (seen_end > end) mma::add_PV<T, D>(O, P, smem.V[S::stage_after(stage, stages - 1)]);
  if (group == 0) barrier_arrive(turn_of_group_1, threads);
  store_rows<D>(p, block.work(), block.work().first + warp_row, smem.Q, warp_row, O, rows);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fa2
