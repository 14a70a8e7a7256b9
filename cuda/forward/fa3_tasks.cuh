// fa3's tasks: what a block computes in its rounds, and the producer, who finds them, tells the
// consumers and loads.
#pragma once

#include "cuda/rules/persistent.cuh"
#include "cuda/rules/product.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fa3 {

template <int D>
using Shape = persistent::TileShape<D>;

template <class T>
struct Parameters : ProductParameters<T>, TmaMaps {
  TileOrder order;
  float inverse_cap;  ///< finite, so that 0 stays 0 under the smallest cap

  /// cap tanh(scale q k / cap)
  FLASHBOOK_DEVICE float capped(float product) const {
    return this->options.softcap * tanhf(this->tensors.sizes.scale * product * inverse_cap);
  }
};

/// The keys that a block's rows see, in tiles of B_c from the last: tile t holds those from
/// first(t) on. The last tile may begin before the first key.
template <int B_c>
struct KeyTiles {
  Range keys;

  FLASHBOOK_DEVICE int count() const { return tiles(keys.end - keys.begin, B_c); }
  FLASHBOOK_DEVICE int first(int t) const { return keys.end - (t + 1) * B_c; }
  /// The numbers of the tiles whose keys are all among `some`, after the first that holds any of
  /// them. `some` ends where these do, or before.
  FLASHBOOK_DEVICE Range within(const Range& some) const {
    return {1 + (keys.end - some.end) / B_c, (keys.end - some.begin) / B_c};
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

/// The keys of a task as its producer loads them, found once: a division would keep a tile waiting.
struct KeyLoads {
  int count;    ///< tiles of keys
  int end;      ///< the token behind the last key
  int hidden;   ///< rows of the last tile that come before the first key
  int kv_head;  ///< of K and V
  int batch;
};

/// A tile of rows, and the block's round in which it is computed; -1: there is no other.
struct Task {
  Work work;
  int round;
  KeyLoads loads;
};

/// Where tasks lie. When the producer writes one down, the two or three before it may not have been
/// taken, and the one before those may be read until its rows are stored.
constexpr int task_slots = 8;

template <class T, class S>
struct Smem : PersistentSmem<T, S> {
  Mbarrier landed;                 ///< complete when a tile of V is there that must be cleared
  Tile<int, task_slots, 20> task;  ///< 14 words each; rows are whole chunks

  /// By all threads.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) mbarrier_init(landed, 1);
    PersistentSmem<T, S>::initialise();
  }

  FLASHBOOK_DEVICE void write_task(int slot, const Task& of) {
    const auto words_of = std::bit_cast<TaskWords>(of);
#pragma unroll
    for (int i = 0; i < words; ++i) task(slot, i) = words_of.word[i];
  }
  FLASHBOOK_DEVICE int round(int slot) {
    return task(slot, 8);
  }
  FLASHBOOK_DEVICE KeyLoads loads(int slot) {
    return {task(slot, 9), task(slot, 10), task(slot, 11), task(slot, 12), task(slot, 13)};
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
  static constexpr int words = 14;
  struct TaskWords {
    int word[words];
  };
  struct WorkWords {
    uint4 low, high;
  };
};

/// A warp, of which lane 0 starts the copies.
template <class T, class S>
struct Producer {
  Smem<T, S>& smem;
  const Parameters<T>& p;
  bool again;                                ///< only what overflowed
  unsigned rows = 0, keys = 0, cleared = 0;  ///< tiles so far

  FLASHBOOK_DEVICE KeyLoads loads_of(const Work& work) const {
    const KeyTiles<S::B_c> tiles = key_tiles<S>(work, p.tensors.sizes);
    const int count = tiles.count();
    return {count, work.k_token + tiles.keys.end, tiles.keys.begin - tiles.first(count - 1),
            p.order.sharing.quotient(work.head), work.batch(p.members)};
  }
  /// The next task from `round` on; its round is -1 if there is none.
  FLASHBOOK_DEVICE Task find(int round) const {
    TileOrder::Place place;
    for (; p.order.find(place, round, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
         ++round) {
      if (again && !smem.has_overflowed(round)) continue;
      const Work work = work_at(place.number, place.head, p.tensors.sizes, p.members, S::B_r);
      if (!work.is_nothing()) return {work, round, loads_of(work)};
    }
    return {{}, -1, {}};
  }
  /// Writes down the next task from `round` on, whose slot nobody reads any more, and loads its Q,
  /// with which the consumers learn of it. Returns its round.
  FLASHBOOK_DEVICE int announce(int round) {
    const Task task = find(round);
    const unsigned s = rows % S::Q_stages;
    if (mma::lane() == 0) {
      smem.write_task(rows % task_slots, task);
      mbarrier_wait(smem.empty_Q[s], rows / S::Q_stages % 2 ^ 1);
      if (task.loads.count > 0)
        load_rows(smem.Q[s], p.Q_map, task.work.q_token + task.work.first, task.work.head,
                  task.loads.batch, smem.full_Q[s]);
      else
        mbarrier_arrive(smem.full_Q[s]);
    }
    sync_warp();
    ++rows;
    return task.round;
  }
  /// Keys of the task of that round; before the first, -1, there are none. The next one is
  /// announced as soon as Q has room for it; returns its round. A consumer wants K a tile earlier
  /// than V.
  FLASHBOOK_DEVICE int load(int round) {
    const unsigned slot = (rows - 1) % task_slots;
    const int count = round < 0 ? 0 : smem.loads(slot).count;
    const int announced = S::chains && count > 0 ? 1 : count;
#pragma unroll 1
    for (int t = 0; t <= count; ++t) {
      if (t < count) load_K(slot, t);
      if (t > 0) load_V(slot, t - 1);
      if (t == announced) round = announce(round + 1);
    }
    keys += count;
    return round;
  }
  /// Tile t of K.
  FLASHBOOK_DEVICE void load_K(unsigned slot, int t) {
    const KeyLoads of = smem.loads(slot);
    if (mma::lane() == 0)
      smem.K.load(keys + t, p.K_map, of.end - (t + 1) * S::B_c, of.kv_head, of.batch);
  }
  /// Tile t of V. What lies before the first token of all is zeros already.
  FLASHBOOK_DEVICE void load_V(unsigned slot, int t) {
    const KeyLoads of = smem.loads(slot);
    const int token = of.end - (t + 1) * S::B_c;
    if (t + 1 == of.count && of.hidden > 0 && token + of.hidden > 0)
      smem.V.load_cleared(keys + t, p.V_map, token, of.kv_head, of.batch, of.hidden, smem.landed,
                          cleared++ % 2);
    else if (mma::lane() == 0)
      smem.V.load(keys + t, p.V_map, token, of.kv_head, of.batch);
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
