// What persistent kernels share: the parameters, shared memory, the producer, and the launch. A
// block computes many tiles of rows, one after the other (tile_order.cuh); producer and consumers
// each find them for themselves.
#pragma once

#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/tile_order.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

template <class T>
struct PersistentParameters : TmaParameters<T> {
  TileOrder order;
};

namespace persistent {
/// How persistent kernels tile rows of up to D channels. 128 threads hold 64 x D of O and 64 x B_c
/// of S and P, and may hold 64 x D of Q; registers are those of a consumer's thread.
///
///   D    consumers  B_c  Q                        O + S + P + Q  of
///   64   4          64   two in shared memory     32 + 32 + 16   112
///   128  2          128  registers                64 + 64 + 32 + 32   232
///   256  2          64   one in shared memory     128 + 32 + 16  232
template <int width, int blocks = 1>
struct TileShape {
  static constexpr int D = width, cluster = blocks;
  static constexpr int consumers = D == 64 ? 4 : 2, threads = 128 * (1 + consumers);
  static constexpr int B_r = 64 * consumers, B_c = D == 128 ? 128 : 64, stages = D == 64 ? 4 : 2;
  static constexpr bool keeps_Q = D == 128;
  static constexpr int Q_stages = D == 64 ? 2 : 1;
  /// Whether the next tile's Q can be there before this one's is given back.
  static constexpr bool chains = keeps_Q || Q_stages == 2;
  static constexpr int producer_registers = D == 64 ? 32 : 40;
  static constexpr int consumer_registers = D == 64 ? 112 : 232;
};
}  // namespace persistent

/// A block has at most so many tiles: longer problems have more blocks.
constexpr int most_rounds = 512;

template <class T, class Shape>
struct PersistentSmem {
  Tile<T, Shape::B_r, Shape::D, Swizzle128> Q[Shape::Q_stages];
  Ring<Tile<T, Shape::B_c, Shape::D, Swizzle128>, Shape::stages, Shape::cluster> K, V;
  Mbarrier full_Q[Shape::Q_stages];   ///< complete when a tile's Q is there
  Mbarrier empty_Q[Shape::Q_stages];  ///< complete when each warp of the consumers has read it
  Tile<int, 4 * Shape::consumers, most_rounds / 32> overflowed;  ///< a bit a round, by warps
  Mbarrier judged;  ///< complete when each of these warps has come to the end

  /// By all threads, of all blocks of a cluster.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) {
      for (int s = 0; s < Shape::Q_stages; ++s) {
        mbarrier_init(full_Q[s], 1);
        mbarrier_init(empty_Q[s], 4 * Shape::consumers);
      }
      mbarrier_init(judged, 4 * Shape::consumers);
      K.initialise(Shape::consumers);
      V.initialise(Shape::consumers);
      fence_mbarrier_init();
    }
    for (int i = threadIdx.x; i < 4 * Shape::consumers * (most_rounds / 32); i += Shape::threads)
      overflowed(i / (most_rounds / 32), i % (most_rounds / 32)) = 0;
    if constexpr (Shape::cluster > 1)
      cluster_sync();  // the mbarriers are everybody's
    else
      sync_threads();  // the mbarriers are everybody's
  }
  /// Whether some row of this round's tile overflowed.
  FLASHBOOK_DEVICE bool has_overflowed(int round) {
    int bits = 0;
#pragma unroll 1
    for (int warp = 0; warp < 4 * Shape::consumers; ++warp) bits |= overflowed(warp, round / 32);
    return shuffle(bits >> round % 32 & 1, 0) != 0;
  }
  FLASHBOOK_DEVICE bool has_overflowed() {
    int bits = 0;
#pragma unroll 1
    for (int i = mma::lane(); i < 4 * Shape::consumers * (most_rounds / 32); i += 32)
      bits |= overflowed(i / (most_rounds / 32), i % (most_rounds / 32));
    return any(bits != 0);
  }
};

/// A tile of rows, and its number among the block's; -1: there is no other.
template <class Shape>
struct Task {
  OrderedTile<Shape::B_r, Shape::B_c> tile;
  int round;

  FLASHBOOK_DEVICE bool exists() const { return round >= 0; }
  FLASHBOOK_DEVICE bool has_keys() const { return exists() && tile.end > 0; }
};

/// The block's next tile from `round` on; `again`: of those that overflowed. The same in all
/// threads, from what the compiler knows to be so.
template <class T, class Shape>
FLASHBOOK_DEVICE Task<Shape> find_task(PersistentSmem<T, Shape>& smem,
                                       const PersistentParameters<T>& p, int round, bool again) {
  constexpr int cluster = Shape::cluster;
  const int rank = cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int mine = static_cast<int>(blockIdx.x) / cluster;
  const int clusters = static_cast<int>(gridDim.x) / cluster;
  TileOrder::Place place;
#pragma unroll 1
  for (; p.order.find(place, round, mine, clusters); ++round)
    if (!again || smem.has_overflowed(round))
      return {tile_at<Shape::B_r, Shape::B_c>(p.order, place, p.sizes.visible, rank, cluster),
              round};
  return {{}, -1};
}

/// Waits until all consumers of the block, in a cluster of all blocks, have come; what they did
/// before is seen.
template <class T, class Shape>
FLASHBOOK_DEVICE void meet(PersistentSmem<T, Shape>& smem, bool is_consumer) {
  if constexpr (Shape::cluster > 1) {
    cluster_sync();
  } else {
    mbarrier_arrive_if(smem.judged, is_consumer && mma::lane() == 0);
    mbarrier_wait(smem.judged, 0);
  }
}

/// The warp whose first thread loads; the others come along to find tasks.
template <class T, class Shape>
struct Producer {
  PersistentSmem<T, Shape>& smem;
  const PersistentParameters<T>& p;
  bool again;                   ///< only what overflowed, and alone
  unsigned rows = 0, keys = 0;  ///< tiles so far

  FLASHBOOK_DEVICE void load_Q(const Task<Shape>& task) {
    if (!task.has_keys()) return;
    const unsigned s = rows % Shape::Q_stages, phase = rows / Shape::Q_stages % 2;
    ++rows;
    if (threadIdx.x != 0) return;
    mbarrier_wait(smem.empty_Q[s], phase ^ 1);
    load_rows(smem.Q[s], p.Q_map, task.tile.first, task.tile.head, task.tile.batch, smem.full_Q[s]);
  }
  /// Tile t of the keys that `tile` sees, and V of the one before: a consumer wants K earlier.
  template <class Tile>
  FLASHBOOK_DEVICE void load_keys(const Tile& tile, int t) {
    if (threadIdx.x != 0) return;
    if (t < tile.key_tiles())
      smem.K.load(keys + t, p.K_map, tile.first_key(t), tile.kv_head, tile.batch, again);
    if (t > 0)
      smem.V.load(keys + t - 1, p.V_map, tile.first_key(t - 1), tile.kv_head, tile.batch, again);
  }
  /// K and V of the tile of rows of `task`, which then is the next one: its Q is loaded when there
  /// is room for it.
  FLASHBOOK_DEVICE void load(Task<Shape>& task) {
    const auto tile = task.tile;
    const int count = tile.key_tiles(), then_Q = Shape::chains && count > 0 ? 1 : count;
#pragma unroll 1
    for (int t = 0; t <= count; ++t) {
      load_keys(tile, t);
      if (t == then_Q) load_Q(task = find_task(smem, p, task.round + 1, again));
    }
    keys += count;
  }
  FLASHBOOK_DEVICE void load_all() {
    Task<Shape> task = find_task(smem, p, 0, again);
    load_Q(task);
#pragma unroll 1
    while (task.exists()) load(task);
  }
};

template <class T, class Shape>
FLASHBOOK_DEVICE void produce(PersistentSmem<T, Shape>& smem, const PersistentParameters<T>& p) {
  Producer<T, Shape> producer = {smem, p, false};
#pragma unroll 1
  while (true) {
    producer.load_all();
    sync_warp();
    if (producer.again) break;
    meet(smem, false);
    if (!smem.has_overflowed()) break;
    producer.again = true;
  }
}

/// K and V of a group of heads take about so much, half of an H200's L2.
constexpr int64_t group_bytes = 24 << 20;

/// As many clusters as the GPU holds at once, if there is as much to do; more if each would have
/// more than most_rounds items.
inline int64_t clusters_for(int64_t items, int64_t at_once) {
  const int64_t fewest = (items + most_rounds - 1) / most_rounds;
  const int64_t clusters = items < at_once ? items : at_once;
  return clusters < fewest ? fewest : clusters;
}

/// In which order `clusters` clusters take tiles, of which a head has items_of_head. Under a causal
/// mask heads are grouped, by group_bytes of K and V, but into few enough groups that each cluster
/// has few_rounds of one: of less the shares differ.
template <class T>
TileOrder order_of(const Sizes& sizes, int items_of_head, int64_t clusters) {
  constexpr int64_t few_rounds = 4;
  if (sizes.visible.right == most_tokens) return {items_of_head, 1, false, sizes};
  const int64_t heads = int64_t{sizes.batch} * sizes.heads_q;
  const int64_t row_bytes = (int64_t{sizes.d} + sizes.d_v) * int64_t{sizeof(T)};
  const int64_t by_bytes = heads / sizes.group() * sizes.n_k() * row_bytes / group_bytes + 1;
  const int64_t by_rounds = items_of_head * heads / (few_rounds * clusters);
  const int64_t groups = by_rounds < 1 ? 1 : by_bytes < by_rounds ? by_bytes : by_rounds;
  return {items_of_head, static_cast<int>((heads + groups - 1) / groups), true, sizes};
}

template <class T, class Shape>
LaunchStatus launch_persistent(const char* name, const flashbook_problem& problem,
                               const ForwardTensors& tensors, void* stream,
                               void (*kernel)(PersistentParameters<T>)) {
  const Sizes sizes = sizes_of(problem);
  const int items_of_head = tiles(tiles(sizes.n_q(), Shape::B_r), Shape::cluster);
  const int64_t items = int64_t{items_of_head} * sizes.batch * sizes.heads_q;
  if (items == 0) return {};
  const int64_t clusters = clusters_for(items, multiprocessors() / Shape::cluster);
  PersistentParameters<T> p = {{}, order_of<T>(sizes, items_of_head, clusters)};
  const LaunchStatus status =
      make_tma_parameters(p, problem, tensors, {Shape::B_r, Shape::B_c / Shape::cluster});
  if (!status.ok()) return status;
  const std::size_t bytes = sizeof(PersistentSmem<T, Shape>);
  const auto blocks = static_cast<unsigned>(clusters * Shape::cluster);
  const LaunchShape shape = {name, {blocks}, {Shape::threads}, bytes, false, Shape::cluster};
  return launch(shape, stream, kernel, p);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
