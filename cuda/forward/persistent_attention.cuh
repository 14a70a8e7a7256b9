// Attention by blocks that stay for many tiles of rows: what consumers do, and the kernel, of which
// persistent_tiles and cluster_multicast are instances.
#pragma once

#include "cuda/rules/persistent.cuh"
#include "cuda/rules/store_rows.cuh"

namespace flashbook::FLASHBOOK_MACHINE::persistent {

/// A warpgroup that computes.
template <class T, class Shape>
struct Consumer {
  static constexpr int D = Shape::D, n_8 = Shape::B_c / 8;

  PersistentSmem<T, Shape>& smem;
  const PersistentParameters<T>& p;
  Turns<Shape::consumers> turns;
  bool again;                   ///< what overflowed, with running maxima
  unsigned rows = 0, keys = 0;  ///< tiles so far

  float O[1][D / 8][4], S[1][n_8][4];
  uint32_t P[1][n_8 / 2][4];
  mma::Operand<D> Q;
  mma::RowBlocks<1> softmax;
  bool fits;  ///< weights of all tiles may be 2^(c S - M), as far as is known

  /// The next tile's Q is there.
  FLASHBOOK_DEVICE void take_Q() {
    const unsigned s = rows % Shape::Q_stages;
    mbarrier_wait(smem.full_Q[s], rows / Shape::Q_stages % 2);
    if constexpr (Shape::keeps_Q) {
      load_Q(Q, smem.Q[s], 64 * turns.consumer);
      give_Q();
    }
  }
  /// This warp has read Q.
  FLASHBOOK_DEVICE void give_Q() {
    sync_warp();
    mbarrier_arrive_if(smem.empty_Q[rows++ % Shape::Q_stages], mma::lane() == 0);
  }

  FLASHBOOK_DEVICE void start_S(unsigned t) {
    if constexpr (Shape::keeps_Q)
      start_QK<T, D>(S, Q, smem.K[t]);
    else
      start_QK<T>(S, smem.Q[rows % Shape::Q_stages], 64 * turns.consumer, smem.K[t]);
  }
  /// S = Q K^T of a tile's first keys, beside which nothing runs.
  FLASHBOOK_DEVICE void multiply_first() {
    take_Q();
    smem.K.wait(keys);
    turns.wait();
    wgmma_fence();
    start_S(keys);
    turns.pass();
    wgmma_wait<0>(accumulators(S));
    smem.K.release(keys, again);
  }
  /// Starts S = Q K^T of the next keys and O = O + P V of these.
  FLASHBOOK_DEVICE void start_both(bool accumulate) {
    smem.K.wait(keys + 1);
    turns.wait();
    wgmma_fence();
    start_S(keys + 1);
    smem.V.wait(keys);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V[keys], accumulate);
    turns.pass();
  }

  /// The maxima follow. Returns whether O must be multiplied by `factor`.
  FLASHBOOK_DEVICE bool follow_maxima(float (&factor)[1][2], const Exponents& e) {
    float m_tile[1][2];
    softmax.maxima(m_tile, S);
    const bool follows = softmax.any_above(m_tile, slack / e.c);
    if (follows) softmax.follow(m_tile, factor, e);
    return follows;
  }

  /// S of the first keys becomes P.
  FLASHBOOK_DEVICE void weigh_first(const Task<Shape>& task, const WarpgroupRows& here) {
    float factor[1][2];
    here.mask(S, task.tile.first_key(0));
    follow_maxima(factor, here.e);
    softmax.weigh_differences(S, here.e);
    mma::to_left<T>(P, S);
  }
  /// The tiles of keys from 1 to `first` - 1, with masks and maxima.
  FLASHBOOK_DEVICE void attend_with_maxima(const Task<Shape>& task, const WarpgroupRows& here,
                                           int first) {
#pragma unroll 1
    for (int t = 1; t < first; ++t, ++keys) {
      float factor[1][2];
      start_both(t > 1);
      wgmma_wait<1>(accumulators(S));
      smem.K.release(keys + 1, again);
      here.mask(S, task.tile.first_key(t));
      const bool follows = follow_maxima(factor, here.e);
      softmax.weigh_differences(S, here.e);
      wgmma_wait<0>(accumulators(O));
      smem.V.release(keys, again);
      if (follows) softmax.rescale(O, factor);
      mma::to_left<T>(P, S);
    }
  }
  /// Those from `first` on, without.
  FLASHBOOK_DEVICE void attend_without(const WarpgroupRows& here, int first, int count) {
    constexpr int half = n_8 / 2;
    RowState(&row)[2] = softmax.row[0];
    const float c = here.e.c, M[2] = {c * row[0].m, c * row[1].m};
    fits = softmax.by_product && all(row[0].m > -INFINITY && row[1].m > -INFINITY);
    float l[2] = {row[0].l, row[1].l};
#pragma unroll 1
    for (int t = first; t < count; ++t, ++keys) {
      start_both(t > 1);
      wgmma_wait<1>(accumulators(S));
      weigh(columns<0, half>(S), c, M, l);
      smem.K.release_after(l[0] + l[1], keys + 1, again);
      wgmma_wait<0>(accumulators(O));
      smem.V.release(keys, again);
      weigh(columns<half, n_8>(S), c, M, l);
      mma::to_left<T>(P, S);
    }
    row[0].l = l[0];
    row[1].l = l[1];
  }
  /// O = O + P V of the last keys and beside it, if there is one and it can, S of the next tile's
  /// first, which is then done.
  FLASHBOOK_DEVICE void end_tile(bool accumulate, bool with_S) {
    if constexpr (!Shape::keeps_Q) give_Q();
    if (with_S) {
      take_Q();
      start_both(accumulate);
      wgmma_wait<0>(accumulators(S), accumulators(O));
      smem.K.release(keys + 1, again);
    } else {
      smem.V.wait(keys);
      wgmma_fence();
      start_PV<T, D>(O, P, smem.V[keys], accumulate);
      wgmma_wait<0>(accumulators(O));
    }
    smem.V.release(keys++, again);
  }

  /// Nothing of this thread's overflowed. NaN is taken for an overflow.
  FLASHBOOK_DEVICE bool are_finite() const {
    float zeros[4] = {0 * (softmax.row[0][0].l + softmax.row[0][1].l)};
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) zeros[i] = fmaf(0, O[0][n][i], zeros[i]);
    return zeros[0] + zeros[1] + zeros[2] + zeros[3] == 0;
  }
  FLASHBOOK_DEVICE void note_overflow(int round) {
    const bool overflowed = any(!fits || !are_finite());
    if (again || !overflowed || mma::lane() != 0) return;
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4;
    smem.overflowed(warp, round / 32) = smem.overflowed(warp, round / 32) | 1 << round % 32;
  }

  /// How many tiles of keys are attended with maxima.
  FLASHBOOK_DEVICE int first_tiles(const Task<Shape>& task, const WarpgroupRows& here) const {
    if (again) return task.tile.key_tiles();
    const bool exist = task.tile.first + here.in_tile < p.sizes.n_q();
    return task.tile.first_tiles(exist ? here.full_end : task.tile.end);
  }
  FLASHBOOK_DEVICE void attend_all() {
    bool has_S = false;
    Task<Shape> task = find_task(smem, p, 0, again);
#pragma unroll 1
    while (task.exists()) {
      const WarpgroupRows here(p.sizes, task.tile, turns.consumer);
      const Task<Shape> next = find_task(smem, p, task.round + 1, again);
      softmax = {};
      fits = true;
      if (task.has_keys()) {
        const int first = first_tiles(task, here), count = task.tile.key_tiles();
        if (!has_S) multiply_first();
        weigh_first(task, here);
        attend_with_maxima(task, here, first);
        if (first < count) attend_without(here, first, count);
        has_S = Shape::chains && next.has_keys();
        end_tile(count > 1, has_S);
        note_overflow(task.round);
      }
      mma::store_rows_in_chunks(p, task.tile.batch, task.tile.head, here.row, O[0], softmax.row[0],
                                here.e.scale);
      task = next;
    }
  }
};

template <class T, class Shape>
FLASHBOOK_DEVICE void consume(PersistentSmem<T, Shape>& smem, const PersistentParameters<T>& p,
                              int number) {
  Consumer<T, Shape> consumer = {smem, p, {number}, false, 0, 0, {}, {}, {}, {}, {}, true};
  consumer.turns.open();
#pragma unroll 1
  while (true) {
    consumer.attend_all();
    if (consumer.again) break;
    meet(smem, true);
    if (!smem.has_overflowed()) break;
    consumer.again = true;
  }
  consumer.turns.close();
}

template <class T, class Shape>
FLASHBOOK_KERNEL(Shape::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT PersistentParameters<T> p) {
  auto& smem = shared_memory<PersistentSmem<T, Shape>>();
  smem.initialise();
  specialise<Shape>([&] { produce<T, Shape>(smem, p); },
                    [&](int number) { consume<T, Shape>(smem, p, number); });
}

template <class T, class Shape>
LaunchStatus launch_all(const char* name, const flashbook_problem& problem,
                        const ForwardTensors& tensors, void* stream) {
  return launch_persistent<T, Shape>(name, problem, tensors, stream, forward<T, Shape>);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::persistent
