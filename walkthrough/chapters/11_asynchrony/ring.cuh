// Chapter 11: a ring of two stages in shared memory. Warp 0 has the copy engine bring tiles of x,
// the warps 1 and 2 add them up, each its half of the rows. And the same with mistakes.
#pragma once

#include "cuda/isa/hopper.cuh"

namespace flashbook::FLASHBOOK_MACHINE::ring {

// [smem]
constexpr int stages = 2, consumers = 2, threads = 32 * (1 + consumers);
constexpr int rows = 8, columns = 32;  // of a tile: fp32, so a row is 128 bytes

struct Parameters {
  TensorMap x;    // [tiles rows, columns], in boxes of a tile
  gmem<float> y;  // [consumers, columns]: sums over the tiles of a consumer's half of the rows
  int tiles;
};

struct Smem {
  Tile<float, rows, columns, Swizzle128> x[stages];
  Tile<float, consumers, columns> y;
  Mbarrier full[stages];   // complete when the stage's tile is there
  Mbarrier empty[stages];  // complete when each consumer has given the stage back
};
// [/smem]

// [initialise]
FLASHBOOK_DEVICE void initialise(Smem& smem) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(smem.full[s], 1);           // the producer, once a tile
      mbarrier_init(smem.empty[s], consumers);  // a thread of each consumer
    }
    fence_mbarrier_init();  // the copy engine sees them, too
  }
  sync_threads();  // the mbarriers are everybody's
}
// [/initialise]

// [produce]
FLASHBOOK_DEVICE void produce(Smem& smem, const Parameters& p) {
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.empty[s], parity ^ 1);
    mbarrier_arrive_expect_tx(smem.full[s], sizeof smem.x[s]);
    tma_load(smem.x[s].at(0, 0), p.x, {0, t * rows}, smem.full[s]);
  }
}
// [/produce]

/// A lane's sum over a consumer's half of a tile.
FLASHBOOK_DEVICE float sum_of_half(Smem& smem, int stage, int consumer) {
  float sum = 0;
  for (int r = 0; r < rows / consumers; ++r)
    sum += smem.x[stage](consumer * rows / consumers + r, threadIdx.x % 32);
  return sum;
}

// [consume]
FLASHBOOK_DEVICE float consume(Smem& smem, const Parameters& p, int consumer) {
  float sum = 0;
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.full[s], parity);
    sum += sum_of_half(smem, s, consumer);
    sync_warp();  // all lanes have read the stage
    mbarrier_arrive_if(smem.empty[s], threadIdx.x % 32 == 0);
  }
  return sum;
}
// [/consume]

// [finish]
/// The sums leave through shared memory, as one copy.
FLASHBOOK_DEVICE void finish(Smem& smem, const Parameters& p, int consumer, float sum) {
  smem.y(consumer, threadIdx.x % 32) = sum;
  fence_proxy_async();              // the copy engine sees what this thread has written
  barrier_sync(1, 32 * consumers);  // all consumers have
  if (threadIdx.x != 32) return;
  bulk_store(p.y, smem.y.at(0, 0), sizeof smem.y);
  bulk_commit();
  bulk_wait<0>();
}
// [/finish]

// [kernel]
using Produce = void(Smem&, const Parameters&);
using Consume = float(Smem&, const Parameters&, int consumer);
using Finish = void(Smem&, const Parameters&, int consumer, float sum);

template <Produce& produce, Consume& consume, Finish& finish>
FLASHBOOK_KERNEL(threads)
sums(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  Smem& smem = shared_memory<Smem>();
  initialise(smem);
  const int warp = threadIdx.x / 32;
  if (warp > 0)
    finish(smem, p, warp - 1, consume(smem, p, warp - 1));
  else if (threadIdx.x == 0)
    produce(smem, p);
}
// [/kernel]

// ---- with mistakes

// [released_early]
FLASHBOOK_DEVICE float release_early(Smem& smem, const Parameters& p, int consumer) {
  float sum = 0;
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.full[s], parity);
    mbarrier_arrive_if(smem.empty[s], threadIdx.x % 32 == 0);  // it is there, so go on
    sum += sum_of_half(smem, s, consumer);
  }
  return sum;
}
// [/released_early]

// [wrong_phase]
FLASHBOOK_DEVICE float wait_for_phase_0(Smem& smem, const Parameters& p, int consumer) {
  float sum = 0;
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages;
    mbarrier_wait(smem.full[s], 0);
    sum += sum_of_half(smem, s, consumer);
    sync_warp();
    mbarrier_arrive_if(smem.empty[s], threadIdx.x % 32 == 0);
  }
  return sum;
}
// [/wrong_phase]

// [nothing_expected]
FLASHBOOK_DEVICE void expect_nothing(Smem& smem, const Parameters& p) {
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.empty[s], parity ^ 1);
    mbarrier_arrive(smem.full[s]);
    tma_load(smem.x[s].at(0, 0), p.x, {0, t * rows}, smem.full[s]);
  }
}
// [/nothing_expected]

// [too_many_bytes]
FLASHBOOK_DEVICE void expect_too_much(Smem& smem, const Parameters& p) {
  for (int t = 0; t < p.tiles; ++t) {
    const int s = t % stages, parity = t / stages % 2;
    mbarrier_wait(smem.empty[s], parity ^ 1);
    mbarrier_arrive_expect_tx(smem.full[s], sizeof smem.x);  // of all stages
    tma_load(smem.x[s].at(0, 0), p.x, {0, t * rows}, smem.full[s]);
  }
}
// [/too_many_bytes]

// [no_proxy_fence]
FLASHBOOK_DEVICE void finish_without_fence(Smem& smem, const Parameters& p, int consumer,
                                           float sum) {
  smem.y(consumer, threadIdx.x % 32) = sum;
  barrier_sync(1, 32 * consumers);  // all consumers have written theirs
  if (threadIdx.x != 32) return;
  bulk_store(p.y, smem.y.at(0, 0), sizeof smem.y);
  bulk_commit();
  bulk_wait<0>();
}
// [/no_proxy_fence]

// ---- the host's side

/// x: [tiles rows, columns].
inline LaunchStatus start(void (*kernel)(Parameters), gmem<const float> x, gmem<float> y, int tiles,
                          void* stream) {
  Parameters p = {{}, y, tiles};
  const LaunchStatus status =
      make_tensor_map(p.x, x, {2, {columns, tiles * rows}, {1, columns}, {columns, rows}});
  if (!status.ok()) return status;
  return launch({"ring", {1}, {threads}, sizeof(Smem)}, stream, kernel, p);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::ring
