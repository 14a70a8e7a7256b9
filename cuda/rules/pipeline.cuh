// What kernels have in common in which one thread loads and warpgroups compute: shared memory, the
// producer, and where a consumer's rows are.
#pragma once

#include "cuda/rules/ring.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Warpgroup 0 loads, the others have 64 rows each.
template <int D>
struct PipelineShape {
  static constexpr int consumers = 2, threads = 128 * (1 + consumers), stages = 2;
  static constexpr int B_r = 64 * consumers, B_c = D <= 128 ? 128 : 64;
};

template <class T, int D>
struct PipelineSmem {
  using Shape = PipelineShape<D>;

  Tile<T, Shape::B_r, D, Swizzle128> Q;
  Ring<Tile<T, Shape::B_c, D, Swizzle128>, Shape::stages> K, V;
  Mbarrier full_Q;  ///< complete when Q is there

  /// By all threads.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) {
      mbarrier_init(full_Q, 1);
      K.initialise(Shape::consumers);
      V.initialise(Shape::consumers);
      fence_mbarrier_init();
    }
    sync_threads();  // the mbarriers are everybody's
  }
};

template <int D>
using PipelineTile = RowTile<PipelineShape<D>::B_r, PipelineShape<D>::B_c>;

// [produce_keys]
/// The producer's tiles of K and V, as tiles number `from` and on of the rings. A consumer wants K
/// a tile earlier than V.
template <class T, int D>
FLASHBOOK_DEVICE void produce_keys(PipelineSmem<T, D>& smem, const TmaParameters<T>& p,
                                   const PipelineTile<D>& tile, int from = 0) {
  const int count = tile.key_tiles();
  for (int t = 0; t <= count; ++t) {
    if (t < count) smem.K.load(from + t, p.K_map, tile.first_key(t), tile.kv_head, tile.batch);
    if (t > 0) smem.V.load(from + t - 1, p.V_map, tile.first_key(t - 1), tile.kv_head, tile.batch);
  }
}
// [/produce_keys]
/// All that the producer does for a tile of rows.
template <class T, int D>
FLASHBOOK_DEVICE void produce(PipelineSmem<T, D>& smem, const TmaParameters<T>& p,
                              const PipelineTile<D>& tile) {
  if (tile.key_tiles() == 0) return;
  load_rows(smem.Q, p.Q_map, tile.first, tile.head, tile.batch, smem.full_Q);
  produce_keys(smem, p, tile);
}

/// Turns of two consumers at the tensor cores. A named barrier opens each one's: it waits there,
/// the other one arrives.
struct Turns {
  enum Barrier { turn_of_consumer_0 = 1, turn_of_consumer_1 };
  static constexpr int threads = 256;

  int consumer;

  /// Consumer 0 begins.
  FLASHBOOK_DEVICE void open() const {
    if (consumer == 1) barrier_arrive(turn_of_consumer_0, threads);
  }
  FLASHBOOK_DEVICE void wait() const { barrier_sync(turn_of_consumer_0 + consumer, threads); }
  /// This turn's products are started. After the last turn nobody waits for another.
  FLASHBOOK_DEVICE void pass(bool is_last) const {
    if (consumer == 0 || !is_last) barrier_arrive(turn_of_consumer_1 - consumer, threads);
  }
};

template <class T, int D>
LaunchStatus launch_pipeline(const char* name, const flashbook_problem& problem,
                             const ForwardTensors& tensors, void* stream,
                             void (*kernel)(TmaParameters<T>),
                             std::size_t shared_bytes = sizeof(PipelineSmem<T, D>)) {
  using Shape = PipelineShape<D>;
  return launch_tma_blocks<T>(name, problem, tensors, {Shape::B_r, Shape::B_c}, Shape::threads,
                              shared_bytes, stream, kernel);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
