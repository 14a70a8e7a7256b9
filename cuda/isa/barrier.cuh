// Where the threads of a block wait for each other. What they wrote before is seen after.
#pragma once

#include "cuda/isa/machine.cuh"

// PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".

#ifdef __CUDACC__

namespace flashbook::gpu {

/// All threads of the block, at the same call: __syncthreads.
FLASHBOOK_DEVICE void sync_threads() {
  __syncthreads();
}
/// `threads` threads, in whole warps, that sync or arrive at barrier `id`, 1 to 15; 0 is
/// sync_threads' own.
FLASHBOOK_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Counts as having come to barrier `id`, and does not wait.
FLASHBOOK_DEVICE void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::emulated {

inline void sync_threads(Site site = Site::here()) {
  simt::sm->barriers.arrive(0, simt::Barriers::everybody, true, site);
}
inline void barrier_sync(int id, int threads, Site site = Site::here()) {
  simt::sm->barriers.arrive(static_cast<unsigned>(id), static_cast<unsigned>(threads), true, site);
}
inline void barrier_arrive(int id, int threads, Site site = Site::here()) {
  simt::sm->barriers.arrive(static_cast<unsigned>(id), static_cast<unsigned>(threads), false, site);
}

}  // namespace flashbook::emulated

#endif
