// The product kernel that the Hopper ladder leads to, for sm_90a, in fp16 and bf16: the rung
// no_running_maximum with all of the contract (docs/contract.md) but bias, ALiBi and rows that TMA
// cannot load. Those it refuses by name; fa2 takes them.
//
// An option costs nothing where it is absent. A soft-cap changes every score and has an instance of
// its own. Masks, windows, packed members, grouped heads, sinks and scales that are not folded into
// the exponent are in both: they say which tiles a block visits, where they lie, which of them are
// masked, and what becomes of a row at its end. A tile that a warpgroup's rows see is not masked.
//
// Blocks stay: as many as the GPU holds at once, each for many tiles of rows. While consumers end
// one, the producer loads the next one's Q and first keys, and S of those is started in the same
// turn as the last O += P V. The producer alone counts tiles; what consumers must know of one lies
// beside its Q. Tiles whose rows overflowed are computed again, with the maximum, at the end.
//
// Tensor maps are of all tokens, also of packed ones, so boxes hold rows of other members, which
// may be NaN. None of them counts:
//
//   Q behind the member's last row: what becomes of such a row has no vote and is not stored
//   K before the first key that the block sees: masked, as are the keys behind a row's last
//   V before the first key that the block sees: zeros, which the producer's warp writes
//   K and V behind the last key that the block sees: no box reaches there
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/forward/fa3_tasks.cuh"
#include "cuda/forward/kernels.hpp"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::fa3 {

/// What scores are made of: products alone, or products under a soft-cap.
enum class Scores { products, capped };

/// A warpgroup of 64 rows. What it does is read where it is needed, so that it takes no registers
/// in between.
template <class T, class S, Scores scores>
struct Consumer {
  static constexpr int D = S::D, n_8 = S::B_c / 8;

  Smem<T, S>& smem;
  const Parameters<T>& p;
  const Turns<S::consumers> turns;
  bool again = false;                     ///< what overflowed, with running maxima
  unsigned rows = 0, keys = 0, slot = 0;  ///< tiles so far; where the task is

  float O[1][D / 8][4] = {}, S_rmem[1][n_8][4];
  uint32_t P[1][n_8 / 2][4];
  mma::Operand<D> Q;
  mma::RowBlocks<1> softmax;
  bool fits;  ///< weights of unmasked tiles may be 2^(c S - M), as far as is known

  FLASHBOOK_DEVICE Consumer(Smem<T, S>& shared, const Parameters<T>& parameters, int number)
      : smem(shared), p(parameters), turns{number} {}

  FLASHBOOK_DEVICE Work work() const { return smem.work(slot); }
  FLASHBOOK_DEVICE Visible visible() const { return work().visible(p.tensors.sizes); }
  FLASHBOOK_DEVICE KeyTiles<S::B_c> tiles_of_keys() const {
    return key_tiles<S>(work(), p.tensors.sizes);
  }
  /// Tiles of keys of the task in a slot.
  FLASHBOOK_DEVICE int count_of(int s) const { return uniform(smem.loads(s).count); }
  /// The member's row that is this thread's first; the other is row + 8.
  FLASHBOOK_DEVICE int row() const { return work().first + mma::warp_row() - 64 + mma::lane() / 4; }

  /// The next task, if there is one, lies in slot `next`; its Q is there.
  FLASHBOOK_DEVICE int take(unsigned next) {
    const unsigned s = rows % S::Q_stages;
    mbarrier_wait(smem.full_Q[s], rows / S::Q_stages % 2);
    const bool has_keys = count_of(next) > 0;
    if constexpr (S::keeps_Q)
      if (has_keys) load_Q(Q, smem.Q[s], 64 * turns.consumer);
    if (S::keeps_Q || !has_keys) give_Q();
    return uniform(smem.round(next));
  }
  FLASHBOOK_DEVICE void give_Q() {
    sync_warp();
    mbarrier_arrive_if(smem.empty_Q[rows++ % S::Q_stages], mma::lane() == 0);
  }

  FLASHBOOK_DEVICE void start_S(unsigned t) {
    if constexpr (S::keeps_Q)
      start_QK<T, D>(S_rmem, Q, smem.K[t]);
    else
      start_QK<T>(S_rmem, smem.Q[rows % S::Q_stages], 64 * turns.consumer, smem.K[t]);
  }
  /// S = Q K^T of a tile's first keys, beside which nothing runs.
  FLASHBOOK_DEVICE void multiply_first() {
    smem.K.wait(keys);
    turns.wait();
    wgmma_fence();
    start_S(keys);
    turns.pass();
    wgmma_wait<0>(accumulators(S_rmem));
    smem.K.release(keys);
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

  /// Numbers of the tiles that all of the 64 rows see that exist, from where each saw a key on;
  /// none, if masking also scales. Found from the warpgroup's rows: its warps must not part.
  FLASHBOOK_DEVICE Range unmasked_tiles(int count) const {
    const Range none = {count, count};
    if (again || !p.e.folded()) return none;
    const int first = work().first + 64 * turns.consumer;
    const Range seen = visible().keys_of_all(Range{first, first + 64});
    const Range some = first < work().n_q ? tiles_of_keys().within(seen) : Range{1, count};
    const int begin = uniform(some.begin), end = uniform(some.end);
    return begin < end ? Range{begin, end} : none;
  }
  FLASHBOOK_DEVICE void cap() {
    if constexpr (scores == Scores::capped) {
#pragma unroll
      for (float& s : accumulators(S_rmem)) s = p.capped(s);
    }
  }
  /// Whether row h has a maximum, or does not exist.
  FLASHBOOK_DEVICE bool has_base(int h) const {
    return softmax.row[0][h].m > -INFINITY || row() + 8 * h >= work().n_q;
  }
  /// Masks tile t, follows its maxima, and S becomes P = 2^(c (S - m)).
  FLASHBOOK_DEVICE void weigh_masked(int t) {
    for_visible(S_rmem[0], visible(), row(), tiles_of_keys().first(t),
                [&](float s, int, int) { return p.e.first * s; });
    float m_tile[1][2];
    softmax.maxima(m_tile, S_rmem);
    if (softmax.any_above(m_tile, slack / p.e.c)) softmax.raise(m_tile, O, p.e);
    softmax.weigh_differences(S_rmem, p.e);
  }
  /// Tiles from t to `end`, masked and with maxima. Returns the next one's number.
  FLASHBOOK_DEVICE int attend_masked(int t, int end) {
#pragma unroll 1
    for (; t < end; ++t, ++keys) {
      start_both(t > 1);
      wgmma_wait<1>(accumulators(S_rmem));
      smem.K.release(keys + 1);
      cap();
      pin(accumulators(S_rmem));
      wgmma_wait<0>(accumulators(O));  // a mask needs registers that O's product reads
      smem.V.release(keys);
      weigh_masked(t);
      mma::to_left<T>(P, S_rmem);
    }
    return t;
  }
  /// Without masks, relative to the maxima that stand. If a warp's rows do not take that, its
  /// weights do not fit, and the task is computed again. Half of them while the tensor cores add to
  /// O: early enough to give V back, late enough to be free.
  FLASHBOOK_DEVICE int attend_unmasked(int t, int end) {
    constexpr int half = n_8 / 2;
    RowState(&row)[2] = softmax.row[0];
    const float c = p.e.c, M[2] = {c * base_of(row[0].m), c * base_of(row[1].m)};
    float l[2] = {row[0].l, row[1].l};
    if (t < end) fits = softmax.by_product && all(has_base(0) && has_base(1));
#pragma unroll 1
    for (; t < end; ++t, ++keys) {
      start_both(t > 1);
      wgmma_wait<1>(accumulators(S_rmem));  // not for O
      cap();
      weigh(columns<0, half>(S_rmem), c, M, l);
      smem.K.release_after(l[0] + l[1], keys + 1);
      wgmma_wait<0>(accumulators(O));
      smem.V.release(keys);
      weigh(columns<half, n_8>(S_rmem), c, M, l);
      mma::to_left<T>(P, S_rmem);
    }
    row[0].l = l[0];
    row[1].l = l[1];
    return t;
  }
  /// All keys of a tile, but for P V of the last. `has_S`: that of the first is done.
  FLASHBOOK_DEVICE void attend(int count, bool has_S) {
    const Range unmasked = unmasked_tiles(count);
    softmax = {};
    fits = true;
    if (!has_S) multiply_first();
    cap();
    weigh_masked(0);
    mma::to_left<T>(P, S_rmem);
    int t = 1;
#pragma unroll 1
    while (t < count) {
      t = attend_masked(t, t < unmasked.end ? unmasked.begin : count);
      t = attend_unmasked(t, unmasked.end);
    }
  }
  /// O = O + P V of the last keys; beside it, if it can, S of the next task's first, which `has_S`
  /// then says is done. Returns the next task's round, if tiles are chained.
  FLASHBOOK_DEVICE int end_tile(bool accumulate, bool& has_S) {
    int next = -1;
    if constexpr (!S::keeps_Q) give_Q();
    if constexpr (S::chains) next = take((slot + 1) % task_slots);
    has_S = next >= 0 && count_of((slot + 1) % task_slots) > 0;
    if (has_S) {
      start_both(accumulate);
      wgmma_wait<0>(accumulators(S_rmem), accumulators(O));
      smem.K.release(keys + 1);
    } else {
      smem.V.wait(keys);
      wgmma_fence();
      start_PV<T, D>(O, P, smem.V[keys], accumulate);
      wgmma_wait<0>(accumulators(O));
    }
    smem.V.release(keys++);
    return next;
  }

  /// Nothing of this thread's rows overflowed. NaN is taken for an overflow.
  FLASHBOOK_DEVICE bool is_finite() const {
    const int below = work().n_q - row();
    float zeros[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      zeros[h] = 0 * softmax.row[0][h].l;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) zeros[h] = fmaf(0, O[0][n][i], zeros[h]);
    }
    return (below <= 0 || zeros[0] == 0) && (below <= 8 || zeros[1] == 0);
  }

  FLASHBOOK_DEVICE void attend_all() {
    bool has_S = false;
    int round = take(slot);
#pragma unroll 1
    while (round >= 0) {
      const int count = count_of(slot);
      int next = -1;
      if (count > 0) {
        attend(count, has_S);
        next = end_tile(count > 1, has_S);
        smem.note_overflow(round, !again && (!fits || any(!is_finite())));
      } else {
        softmax = {};
      }
      store_fragments(p, work(), row() - mma::lane() / 4, O, softmax);
      slot = (slot + 1) % task_slots;
      round = S::chains && count > 0 ? next : take(slot);
    }
    slot = (slot + 1) % task_slots;
  }
};

// ---- a kernel

/// First all tiles, then, if there are any, those that overflowed.
template <class T, class S, class Worker, class Work>
FLASHBOOK_DEVICE void work_twice(Smem<T, S>& smem, Worker& worker, bool is_consumer,
                                 const Work& work) {
#pragma unroll 1
  while (true) {
    work();
    if (worker.again) return;
    meet(smem, is_consumer);
    if (!smem.has_overflowed()) return;
    worker.again = true;
  }
}

template <class T, class S, Scores scores>
FLASHBOOK_KERNEL(S::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT Parameters<T> p) {
  auto& smem = shared_memory<Smem<T, S>>();
  smem.initialise();
  specialise<S>(
      [&] {
        Producer<T, S> producer = {smem, p, false};
        work_twice<T, S>(smem, producer, false, [&] { producer.load_all(); });
      },
      [&](int number) {
        Consumer<T, S, scores> consumer(smem, p, number);
        consumer.turns.open();
        work_twice<T, S>(smem, consumer, true, [&] { consumer.attend_all(); });
        consumer.turns.close();
      });
}

// ---- the host's side

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  using S = Shape<D>;
  const Sizes sizes = sizes_of(problem);
  const Members members = members_of(problem, tensors);
  const auto of_head = static_cast<int>(tiles_of_head(sizes.n_q(), members, S::B_r));
  const int64_t tiles = int64_t{of_head} * sizes.heads_q * sizes.batch;
  if (sizes.n_q() == 0 || tiles == 0) return {};
  const int64_t blocks = clusters_for(tiles, multiprocessors());
  const TileOrder order =
      members.packed ? TileOrder(of_head, 1, false, sizes) : order_of<T>(sizes, of_head, blocks);
  Parameters<T> p = {product_parameters<T>(problem, tensors), {}, order, 0};
  const LaunchStatus status = make_maps(p, p.tensors, {S::B_r, S::B_c});
  if (!status.ok()) return status;
  const float cap = p.options.softcap;
  if (cap > 0) {
    p.inverse_cap = std::min(1 / cap, std::numeric_limits<float>::max());
    p.e = Exponents(1);
  }
  const auto kernel = cap > 0 ? forward<T, S, Scores::capped> : forward<T, S, Scores::products>;
  return launch_blocks("fa3", blocks, S::threads, sizeof(Smem<T, S>), stream, kernel, p);
}

inline LaunchStatus launch_fa3(const flashbook_problem& problem, const ForwardTensors& tensors,
                               void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fa3

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel fa3_forward = {
    "fa3",
    "the contract on Hopper GPUs",
    [](const flashbook_problem& p) { return hopper_product_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    fa3::launch_fa3,
    {.nan_rows = 256, .nan_keys = 128, .hopper_only = true}};
}
