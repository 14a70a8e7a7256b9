// Barriers that are objects in shared memory, and wait for copies, too: sm_90.
//
//   struct Smem { Tile<half, 64, 64, Swizzle128> K; Mbarrier full; };
//
// A phase is complete after as many arrivals as the barrier was initialised with, and as many bytes
// as were announced. Phases have parities 0, 1, 0, ...; who waits says for which. What happened
// before an arrival happened before the wait for its phase.
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

#include <cstdint>

#include "cuda/isa/machine.cuh"

#ifndef __CUDACC__
#include "sim/simt/cluster.hpp"
#endif

namespace flashbook::FLASHBOOK_MACHINE {

struct alignas(8) Mbarrier {
  uint64_t state;
};

}  // namespace flashbook::FLASHBOOK_MACHINE

#ifdef __CUDACC__

namespace flashbook::gpu {

namespace detail {
FLASHBOOK_DEVICE uint32_t shared_address(const Mbarrier& barrier) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
}
}  // namespace detail

/// "mbarrier.init". By one thread; the others may use it after a fence and a barrier.
FLASHBOOK_DEVICE void mbarrier_init(Mbarrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
/// Copies and the other blocks of the cluster see the barriers that this thread has initialised.
/// "membar / fence", fence.mbarrier_init.
FLASHBOOK_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// "mbarrier.arrive".
FLASHBOOK_DEVICE void mbarrier_arrive(Mbarrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(detail::shared_address(barrier))
               : "memory");
}
/// The same if `mine`, as one predicated instruction: a branch would split the warp.
FLASHBOOK_DEVICE void mbarrier_arrive_if(Mbarrier& barrier, bool mine) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::
          "r"(detail::shared_address(barrier)),
      "r"(static_cast<int>(mine))
      : "memory");
}
/// The same at the barrier in this place of block `rank` of the cluster. "mapa".
FLASHBOOK_DEVICE void mbarrier_arrive_at_if(Mbarrier& barrier, unsigned rank, bool mine) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b32 there;\nsetp.ne.b32 p, %2, 0;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "@p mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(
          detail::shared_address(barrier)),
      "r"(rank), "r"(static_cast<int>(mine))
      : "memory");
}
FLASHBOOK_DEVICE void mbarrier_arrive_at(Mbarrier& barrier, unsigned rank) {
  mbarrier_arrive_at_if(barrier, rank, true);
}
/// Announces bytes of the current phase. "mbarrier.expect_tx".
FLASHBOOK_DEVICE void mbarrier_expect_tx(Mbarrier& barrier, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   detail::shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Announces bytes, then arrives. "mbarrier.arrive", .expect_tx.
FLASHBOOK_DEVICE void mbarrier_arrive_expect_tx(Mbarrier& barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   detail::shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Whether the phase of this parity is complete; may wait for a while first.
/// "mbarrier.test_wait / try_wait".
FLASHBOOK_DEVICE bool mbarrier_try_wait(const Mbarrier& barrier, unsigned parity) {
  int complete;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.b32 %0, 1, 0, p;\n}"
      : "=r"(complete)
      : "r"(detail::shared_address(barrier)), "r"(parity)
      : "memory");
  return complete != 0;
}
/// Returns when the phase of this parity is complete.
FLASHBOOK_DEVICE void mbarrier_wait(const Mbarrier& barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(detail::shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// Orders this thread's stores to shared memory before what wgmma, tensor copies and bulk copies
/// read after a barrier: they go by another way, the asynchronous proxy.
/// "membar / fence", fence.proxy.async.
FLASHBOOK_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace flashbook::gpu

#else

namespace flashbook::emulated {

namespace detail {
/// Where in shared memory. Ends the launch if it is not there.
inline uint32_t shared_offset(const Mbarrier& barrier, Site site) {
  const auto* const at = reinterpret_cast<const std::byte*>(&barrier);
  const std::byte* const begin = simt::sm->shared();
  if (at < begin || at + sizeof(Mbarrier) > begin + simt::sm->shape().shared_bytes)
    simt::sm->stop(simt::Category::invalid, simt::id_of(site), 0,
                   "an mbarrier that is not in the block's shared memory");
  return static_cast<uint32_t>(at - begin);
}
inline void fence(simt::Order::Fence kind) {
  if (simt::sm->options().check) simt::sm->races.fence(simt::this_thread->index, kind);
}
}  // namespace detail

inline void mbarrier_init(Mbarrier& barrier, int arrivals, Site site = Site::here()) {
  simt::sm->mbarriers.init(detail::shared_offset(barrier, site), static_cast<unsigned>(arrivals),
                           site);
}
inline void fence_mbarrier_init() {
  detail::fence(simt::Order::Fence::mbarrier_init);
}
inline void mbarrier_arrive(Mbarrier& barrier, Site site = Site::here()) {
  simt::sm->mbarriers.arrive(detail::shared_offset(barrier, site), site);
}
inline void mbarrier_arrive_if(Mbarrier& barrier, bool mine, Site site = Site::here()) {
  if (mine) mbarrier_arrive(barrier, site);
}
inline void mbarrier_arrive_at(Mbarrier& barrier, unsigned rank, Site site = Site::here()) {
  const uint32_t offset = detail::shared_offset(barrier, site);
  simt::sm->cluster().peer(rank, site).mbarriers.arrive(offset, site);
}
inline void mbarrier_arrive_at_if(Mbarrier& barrier, unsigned rank, bool mine,
                                  Site site = Site::here()) {
  if (mine) mbarrier_arrive_at(barrier, rank, site);
}
inline void mbarrier_expect_tx(Mbarrier& barrier, uint32_t bytes, Site site = Site::here()) {
  simt::sm->mbarriers.expect(detail::shared_offset(barrier, site), bytes, site);
}
inline void mbarrier_arrive_expect_tx(Mbarrier& barrier, uint32_t bytes, Site site = Site::here()) {
  mbarrier_expect_tx(barrier, bytes, site);
  mbarrier_arrive(barrier, site);
}
inline void mbarrier_wait(const Mbarrier& barrier, unsigned parity, Site site = Site::here()) {
  simt::sm->mbarriers.wait(detail::shared_offset(barrier, site), parity, site);
}
/// Waits until it is: a GPU may, too.
inline bool mbarrier_try_wait(const Mbarrier& barrier, unsigned parity, Site site = Site::here()) {
  mbarrier_wait(barrier, parity, site);
  return true;
}
inline void fence_proxy_async() {
  detail::fence(simt::Order::Fence::proxy);
}

}  // namespace flashbook::emulated

#endif
