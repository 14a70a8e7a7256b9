// What kernels have in common in which one thread loads and warpgroups compute: their shape, shared
// memory, the producer, turns, and which warps do what.
#pragma once

#include "cuda/rules/ring.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Warpgroup 0 loads, the others have 64 rows each. A shape of another kernel has the same members.
template <int width>
struct PipelineShape {
  static constexpr int D = width;
  static constexpr int consumers = 2, threads = 128 * (1 + consumers), stages = 2, cluster = 1;
  static constexpr int B_r = 64 * consumers, B_c = D <= 128 ? 128 : 64;
  /// Of a thread after the launch: together no more than all had then.
  static constexpr int producer_registers = 24, consumer_registers = 240;
};

template <class T, class Shape>
struct PipelineSmem {
  Tile<T, Shape::B_r, Shape::D, Swizzle128> Q;
  Ring<Tile<T, Shape::B_c, Shape::D, Swizzle128>, Shape::stages, Shape::cluster> K, V;
  Mbarrier full_Q;   ///< complete when Q is there
  Mbarrier empty_Q;  ///< complete when each warp of the consumers needs it no longer

  /// By all threads, of all blocks of a cluster.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) {
      mbarrier_init(full_Q, 1);
      mbarrier_init(empty_Q, 4 * Shape::consumers);
      K.initialise(Shape::consumers);
      V.initialise(Shape::consumers);
      fence_mbarrier_init();
    }
    if constexpr (Shape::cluster > 1)
      cluster_sync();  // the mbarriers are everybody's
    else
      sync_threads();  // the mbarriers are everybody's
  }
};

template <class Shape>
using PipelineTile = RowTile<Shape::B_r, Shape::B_c>;

// [produce_keys]
/// The producer's tiles of K and V, as tiles number `from` and on of the rings. A consumer wants K
/// a tile earlier than V.
template <class Smem, class T, class Tile>
FLASHBOOK_DEVICE void produce_keys(Smem& smem, const TmaParameters<T>& p, const Tile& tile,
                                   unsigned from = 0, bool alone = false) {
  const int count = tile.key_tiles();
  for (int t = 0; t <= count; ++t) {
    if (t < count)
      smem.K.load(from + t, p.K_map, tile.first_key(t), tile.kv_head, tile.batch, alone);
    if (t > 0)
      smem.V.load(from + t - 1, p.V_map, tile.first_key(t - 1), tile.kv_head, tile.batch, alone);
  }
}
// [/produce_keys]
/// All that the producer does for a tile of rows.
template <class Smem, class T, class Tile>
FLASHBOOK_DEVICE void produce(Smem& smem, const TmaParameters<T>& p, const Tile& tile) {
  if (tile.key_tiles() == 0) return;
  load_rows(smem.Q, p.Q_map, tile.first, tile.head, tile.batch, smem.full_Q);
  produce_keys(smem, p, tile);
}

/// Turns of consumers at the tensor cores, one after the other. A named barrier opens each one's:
/// it waits there, the one before arrives.
template <int consumers>
struct Turns {
  static constexpr int first_barrier = 1, threads = 256;  ///< who waits, and who arrives

  int consumer;

  // [turns]
  /// Before the first turn, which is consumer 0's.
  FLASHBOOK_DEVICE void open() const {
    if (consumer == consumers - 1) barrier_arrive(first_barrier, threads);
  }
  FLASHBOOK_DEVICE void wait() const { barrier_sync(first_barrier + consumer, threads); }
  /// This turn's products are started.
  FLASHBOOK_DEVICE void pass() const {
    barrier_arrive(first_barrier + (consumer + 1) % consumers, threads);
  }
  /// After the last turn, of which all have had as many: what it was passed with is taken back.
  FLASHBOOK_DEVICE void close() const {
    if (consumer == 0) wait();
  }
  // [/turns]
};

// [specialise]
/// The producer's warp calls produce(), each consumer consume(its number), and registers go from
/// the one to the others.
template <class Shape, class Produce, class Consume>
FLASHBOOK_DEVICE void specialise(const Produce& produce, const Consume& consume) {
  if (const int group = warpgroup(); group == 0) {
    decrease_registers<Shape::producer_registers>();
    if (threadIdx.x < 32) produce();
  } else {
    increase_registers<Shape::consumer_registers>();
    consume(group - 1);
  }
}
// [/specialise]

/// A block for each B_r rows of each head.
template <class T, class Shape>
LaunchStatus launch_pipeline(const char* name, const flashbook_problem& problem,
                             const ForwardTensors& tensors, void* stream,
                             void (*kernel)(TmaParameters<T>),
                             std::size_t shared_bytes = sizeof(PipelineSmem<T, Shape>)) {
  return launch_tma_blocks<T>(name, problem, tensors, {Shape::B_r, Shape::B_c}, Shape::threads,
                              shared_bytes, stream, kernel);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
