// fa3's tasks: what a block computes in its rounds, and the producer, who finds them, tells the
// consumers and loads.
#pragma once

#include "cuda/rules/persistent.cuh"
#include "cuda/rules/product.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fa3 {

/// Tiles for rows of up to D channels. 128 threads hold 64 rows of O and S, in fp32, and of P and,
/// at D = 128, Q, in 16 bits; registers are a consumer's thread's, of which the producer's has the
/// rest of a third or a quarter of 512.
///
///   D    consumers  B_r  B_c  Q        shared memory   O + S + P + Q        of registers
///   64   3          192  128  2 tiles       112 KiB    32 + 64 + 32         160
///   128  2          128  128  1 tile        160 KiB    64 + 64 + 32 + 32    232
///   256  2          128  64   1 tile        192 KiB    128 + 32 + 16        232
template <int width>
struct Shape {
  static constexpr int D = width, stages = 2, cluster = 1;
  static constexpr int consumers = D == 64 ? 3 : 2, threads = 128 * (1 + consumers);
  static constexpr int B_r = 64 * consumers, B_c = D <= 128 ? 128 : 64;
  static constexpr int producer_registers = D == 64 ? 32 : 40;
  static constexpr int consumer_registers = D == 64 ? 160 : 232;
  static constexpr bool keeps_Q = D == 128;  ///< in registers
  static constexpr int Q_stages = D == 64 ? 2 : 1;
  /// Whether the next tile's Q can be there before this one's is given back.
  static constexpr bool chains = keeps_Q || Q_stages == 2;
};

template <class T>
struct Parameters : ProductParameters<T>, TmaMaps {
  TileOrder order;
  float inverse_cap;  ///< finite, so that 0 stays 0 under the smallest cap

  /// cap tanh(scale q k / cap)
  FLASHBOOK_DEVICE float capped(float product) const {
    return this->options.softcap * tanhf(this->tensors.sizes.scale * product * inverse_cap);
  }
};

/// A tile of rows, and the block's round in which it is computed; -1: there is no other.
struct Task {
  Work work;
  int round;
};

/// Where tasks lie. When the producer writes one down, the two or three before it may not have been
/// taken, and the one before those may be read until its rows are stored.
constexpr int task_slots = 8;

template <class T, class S>
struct Smem : PersistentSmem<T, S> {
  Mbarrier landed;  ///< complete when a tile of V is there that must be cleared
  Tile<int, task_slots, 12> task;

  /// By all threads.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) mbarrier_init(landed, 1);
    PersistentSmem<T, S>::initialise();
  }

  FLASHBOOK_DEVICE void write_task(int slot, const Task& of) {
    const auto words_of = std::bit_cast<TaskWords>(of);
#pragma unroll
    for (int i = 0; i < 9; ++i) task(slot, i) = words_of.word[i];
  }
  FLASHBOOK_DEVICE Work work(int slot) {
    const uint4 low = load_vector<uint4>(task.at(slot, 0)),
                high = load_vector<uint4>(task.at(slot, 4));
    return std::bit_cast<Work>(WorkWords{low, high});
  }
  /// By a consumer's warp. One predicated store: a branch would split the warp.
  FLASHBOOK_DEVICE void note_overflow(int round, bool notes) {
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4;
    const int bits = this->overflowed(warp, round / 32);
    sync_warp();
    if (notes && mma::lane() == 0) this->overflowed(warp, round / 32) = bits | 1 << round % 32;
  }

 private:
  struct TaskWords {
    int word[9];
  };
  struct WorkWords {
    uint4 low, high;
  };
};

/// The keys that a block's rows see, in tiles of B_c from the last: tile t holds those from
/// first(t) on. The last tile may begin before the first key.
template <int B_c>
struct KeyTiles {
  Range keys;

  FLASHBOOK_DEVICE int count() const { return tiles(keys.end - keys.begin, B_c); }
  FLASHBOOK_DEVICE int first(int t) const { return keys.end - (t + 1) * B_c; }
  /// The numbers of the tiles whose keys are all among `some`, none of which comes after these.
  FLASHBOOK_DEVICE Range within(const Range& some) const {
    return {tiles(keys.end - some.end, B_c), (keys.end - some.begin) / B_c};
  }
};

template <class S>
FLASHBOOK_DEVICE KeyTiles<S::B_c> key_tiles(const Work& work, const Sizes& sizes) {
  const Range keys = work.visible(sizes).keys_of(Range{work.first, work.first + S::B_r});
  return {keys.is_empty() ? Range{0, 0} : keys};
}

/// As lane 0 has it: so the compiler, too, knows that a warp agrees (warpgroup()).
FLASHBOOK_DEVICE int uniform(int x) {
  return shuffle(x, 0);
}

/// A warp, of which lane 0 starts the copies.
template <class T, class S>
struct Producer {
  Smem<T, S>& smem;
  const Parameters<T>& p;
  bool again;                                ///< only what overflowed
  unsigned rows = 0, keys = 0, cleared = 0;  ///< tiles so far

  /// Writes down the next task from `round` on; nobody reads its slot any more. Returns its round.
  FLASHBOOK_DEVICE int find(int round) {
    TileOrder::Place place;
    for (; p.order.find(place, round, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
         ++round) {
      if (again && !smem.has_overflowed(round)) continue;
      const Work work = work_at(place.number, place.head, p.tensors.sizes, p.members, S::B_r);
      if (work.is_nothing()) continue;
      if (mma::lane() == 0) smem.write_task(rows % task_slots, {work, round});
      return round;
    }
    if (mma::lane() == 0) smem.write_task(rows % task_slots, {{}, -1});
    return -1;
  }
  /// Loads the next task's Q, with which the consumers learn of it. Returns its round.
  FLASHBOOK_DEVICE int announce(int round) {
    round = find(round);
    const unsigned s = rows % S::Q_stages;
    mbarrier_wait(smem.empty_Q[s], rows / S::Q_stages % 2 ^ 1);
    if (mma::lane() == 0) {
      const Work work = smem.work(rows % task_slots);
      if (round >= 0 && key_tiles<S>(work, p.tensors.sizes).count() > 0)
        load_rows(smem.Q[s], p.Q_map, work.q_token + work.first, work.head, work.batch(p.members),
                  smem.full_Q[s]);
      else
        mbarrier_arrive(smem.full_Q[s]);
    }
    sync_warp();
    ++rows;
    return round;
  }
  /// Keys of the task of that round; before the first, -1, there are none. The next one is
  /// announced as soon as Q has room for it; returns its round. A consumer wants K a tile earlier
  /// than V.
  FLASHBOOK_DEVICE int load(int round) {
    const unsigned slot = (rows - 1) % task_slots;
    const int count = round < 0 ? 0 : key_tiles<S>(smem.work(slot), p.tensors.sizes).count();
    const int announced = S::chains && count > 0 ? 1 : count;
#pragma unroll 1
    for (int t = 0; t <= count; ++t) {
      if (t < count) load_keys<false>(slot, t);
      if (t > 0) load_keys<true>(slot, t - 1);
      if (t == announced) round = announce(round + 1);
    }
    keys += count;
    return round;
  }
  /// Tile t of K or V. What lies before the first token of all is zeros already.
  template <bool is_V>
  FLASHBOOK_DEVICE void load_keys(unsigned slot, int t) {
    const Work work = smem.work(slot);
    const KeyTiles<S::B_c> tiles = key_tiles<S>(work, p.tensors.sizes);
    const int kv_head = work.head / p.tensors.sizes.group(), batch = work.batch(p.members);
    const int hidden = tiles.keys.begin - tiles.first(t), token = work.k_token + tiles.first(t);
    if (is_V && hidden > 0 && token + hidden > 0)
      smem.V.load_cleared(keys + t, p.V_map, token, kv_head, batch, hidden, smem.landed,
                          cleared++ % 2);
    else if (mma::lane() == 0)
      (is_V ? smem.V : smem.K).load(keys + t, is_V ? p.V_map : p.K_map, token, kv_head, batch);
  }

  FLASHBOOK_DEVICE void load_all() {
    int round = -1;
#pragma unroll 1
    do round = load(round);
    while (round >= 0);
    sync_warp();
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE::fa3
