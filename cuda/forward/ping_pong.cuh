// lazy_rescale with two groups of 4 warps that take turns on the tensor cores: while one
// multiplies, the other computes its softmax. Each scheduler has a warp of either group. Left to
// themselves, both multiply at once, at half the rate, and then both compute exponentials at once.
//
// A turn is O += P V of the tile before and S = Q K^T of this one. Two named barriers hand it over,
// and with it what both groups copied. K and V have three stages, so that nobody waits for a copy.
//
// Predicted against lazy_rescale: 1.2 times faster (measured: 1.19 at d = 64). Two warps of a
// scheduler took 2850 cycles for a tile each, 256 mma of 6, 128 exp2 of 8 and some 300 more, one
// after the other; in turns the exp2 of one lie beside the mma of the other. At d = 128 it is
// slower, 0.94: mma are most of the time there, and those of one warp alone begin 8 cycles after
// one another, those of two 6. Some registers spill, too.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/async_tile_io.cuh"
#include "cuda/rules/blocks.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/row_blocks.cuh"

namespace flashbook::FLASHBOOK_MACHINE::ping_pong {

// [rung]
constexpr int group_threads = 128, threads = 2 * group_threads;

/// R blocks of 16 rows a warp, tiles of B_c keys.
template <int row_blocks, int keys>
struct Shape {
  static constexpr int R = row_blocks, B_c = keys, stages = 3;
  static constexpr int group_rows = 64 * R, B_r = 2 * group_rows;
};
template <int D>
using BestShape = Shape<D <= 128 ? 2 : 1, D <= 128 ? 64 : 32>;

template <class T, int D, class S>
struct Smem {
  Tile<T, S::B_r, D, XorSwizzle> Q;
  Tile<T, S::B_c, D, XorSwizzle> K[S::stages], V[S::stages];
};

// [turns]
/// A barrier opens a group's turn: the group waits, the other one arrives.
enum Barrier { turn_of_group_0 = 1, turn_of_group_1 };
// [/turns]
constexpr int slack = 8;  ///< weights may grow to 2^slack before the maximum follows

/// The stage of the tile `ahead` tiles after the one of stage `stage`.
template <class S>
FLASHBOOK_DEVICE int stage_after(int stage, int ahead) {
  return stage + ahead < S::stages ? stage + ahead : stage + ahead - S::stages;
}

/// Rows of a matrix into a tile; zeros where not valid.holds(row).
template <bool in_chunks, int D, class Tile, class T>
FLASHBOOK_DEVICE void copy(Tile& tile, const Matrix<const T>& from, int first, Range valid) {
  if constexpr (in_chunks)
    load_chunks_async<threads, D>(tile, from, first, valid);
  else
    load_elements<threads, D>(tile, from, first, valid);
}

/// Data whose rows are not chunks of 16 bytes have an instance of their own: what it needs would
/// cost the other one registers.
template <class T, int D, class S, bool in_chunks>
FLASHBOOK_KERNEL(threads, 1)
forward(const ForwardParameters<T> p) {
  constexpr int R = S::R, B_r = S::B_r, B_c = S::B_c;
  Smem<T, D, S>& smem = shared_memory<Smem<T, D, S>>();
  const Visible& visible = p.sizes.visible;
  const auto [first, head, batch] = longest_first(blockIdx.x, visible, B_r, p.sizes.heads_q);
  const int group = shuffle(static_cast<int>(threadIdx.x) / group_threads, 0);
  const int warp_row = threadIdx.x / 32 * 16 * R, row = first + warp_row + mma::lane() / 4;
  const Range group_rows = {first + group * S::group_rows, first + (group + 1) * S::group_rows};
  const Range keys = visible.keys_of(Range{first, first + B_r});
  const int seen_end = visible.keys_of(group_rows).end;
  const Matrix<const T> K = p.K.of(batch, head / p.sizes.group()),
                        V = p.V.of(batch, head / p.sizes.group());
  const Exponents e(p.sizes.scale);
  const int full_end = e.folded() && in_chunks ? visible.keys_of_all(group_rows).end : 0;

  float O[R][D / 8][4] = {};
  uint32_t P[R][B_c / 16][4] = {};
  mma::RowBlocks<R> rows;
  const int tile_count = tiles(keys.end, B_c);
  int j = (tile_count - 1) * B_c, stage = 0;

  copy<in_chunks, D>(smem.Q, p.Q.of(batch, head), first, {0, visible.n_q});
#pragma unroll
  for (int t = 0; t < S::stages - 1; ++t) {
    if (t < tile_count) copy<in_chunks, D>(smem.K[t], K, j - t * B_c, keys);
    if (0 < t && t <= tile_count) copy<in_chunks, D>(smem.V[t - 1], V, j - (t - 1) * B_c, keys);
    cp_async_commit();
  }
  cp_async_wait<0>();
  sync_threads();  // Q and the first K and V are everybody's
  if (group == 1) barrier_arrive(turn_of_group_0, threads);

  // [tile]
  const auto add_tile = [&](auto masked) {
    float S_rmem[R][B_c / 8][4];
    const bool seen = !masked || j < seen_end;
    barrier_sync(turn_of_group_0 + group, threads);  // this group's turn
    if (!masked || j + B_c < seen_end)
      mma::add_PV<T, D>(O, P, smem.V[stage_after<S>(stage, S::stages - 1)]);
    if (seen) mma::multiply_QK<T, D>(S_rmem, smem.Q, warp_row, smem.K[stage]);
    cp_async_wait<0>();
    barrier_arrive(turn_of_group_1 - group, threads);

    const int next = j - (S::stages - 1) * B_c;
    auto& K_smem = smem.K[stage_after<S>(stage, S::stages - 1)];
    auto& V_smem = smem.V[stage_after<S>(stage, S::stages - 2)];
    if constexpr (masked) {
      if (next >= 0) copy<in_chunks, D>(K_smem, K, next, keys);
      if (next + B_c >= 0) copy<in_chunks, D>(V_smem, V, next + B_c, keys);
    } else {
      if (next >= 0) load_full_async<threads, D>(K_smem, K, next);
      if (next + B_c >= 0) load_full_async<threads, D>(V_smem, V, next + B_c);
    }
    cp_async_commit();

    if (seen) {
      if constexpr (masked) {
#pragma unroll
        for (int r = 0; r < R; ++r) mask(S_rmem[r], e, visible, row + 16 * r, j);
      }
      float m_tile[R][2];
      rows.maxima(m_tile, S_rmem);
      if (rows.any_above(m_tile, slack / e.c)) rows.raise(m_tile, O, e);
      rows.weigh(S_rmem, e);
      mma::to_left<T>(P, S_rmem);
    }
    j -= B_c;
    stage = stage_after<S>(stage, 1);
  };
  // [/tile]
  while (j >= 0 && (j + B_c > full_end || j + B_c >= seen_end)) add_tile(std::true_type());
  if constexpr (in_chunks) {
    while (j >= 0) add_tile(std::false_type());
  }

  barrier_sync(turn_of_group_0 + group, threads);  // the last turn
  if (seen_end > 0) mma::add_PV<T, D>(O, P, smem.V[stage_after<S>(stage, S::stages - 1)]);
  if (group == 0) barrier_arrive(turn_of_group_1, threads);
#pragma unroll
  for (int r = 0; r < R; ++r)
    mma::store_rows(p, batch, head, row + 16 * r, O[r], rows.row[r], e.scale);
}
// [/rung]

template <class T, int D, class S>
LaunchStatus launch_shape(const flashbook_problem& problem, const ForwardTensors& tensors,
                          void* stream) {
  const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
  const bool in_chunks = p.Q.in_chunks && p.K.in_chunks && p.V.in_chunks;
  return launch_blocks("ping_pong",
                       head_tiles(p.sizes.n_q(), S::B_r, p.sizes.heads_q, p.sizes.batch), threads,
                       sizeof(Smem<T, D, S>), stream,
                       in_chunks ? forward<T, D, S, true> : forward<T, D, S, false>, p);
}

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_shape<T, D, BestShape<D>>(problem, tensors, stream);
}

inline LaunchStatus launch_ping_pong(const flashbook_problem& problem,
                                     const ForwardTensors& tensors, void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::ping_pong

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel ping_pong_forward = {
    "ping_pong",
    "two groups of warps take turns on the tensor cores",
    [](const flashbook_problem& problem) { return rung_refusal(problem, true); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    ping_pong::launch_ping_pong,
    {.nan_rows = 256, .nan_keys = 64}};
}
