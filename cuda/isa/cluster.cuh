// What the blocks of a cluster do together: sm_90. LaunchShape::cluster says how many they are.
// PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster" and "Special
// Registers: %cluster_ctarank".
#pragma once

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

/// This block's number in its cluster.
FLASHBOOK_DEVICE unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of the cluster that have not left arrive and, later, wait.
FLASHBOOK_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
FLASHBOOK_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
FLASHBOOK_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/cluster.hpp"

namespace flashbook::emulated {

inline unsigned cluster_rank() {
  return simt::sm->rank();
}
inline void cluster_arrive(Site site = Site::here()) {
  simt::sm->cluster().arrive(site);
}
inline void cluster_wait(Site site = Site::here()) {
  simt::sm->cluster().wait(site);
}
inline void cluster_sync(Site site = Site::here()) {
  cluster_arrive(site);
  cluster_wait(site);
}

}  // namespace flashbook::emulated

#endif
