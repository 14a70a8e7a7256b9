// Copies from global to shared memory that a thread starts and waits for later: cp.async.
// PTX ISA, "Data Movement and Conversion Instructions: cp.async", "cp.async.commit_group",
// "cp.async.wait_group".
#pragma once

#include "cuda/isa/memory.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

/// Starts to copy 16 bytes, past the L1 cache. Not `valid`: nothing is read, zeros are written.
template <class T, class U>
requires(std::is_same_v<std::remove_const_t<U>, T>) FLASHBOOK_DEVICE
    void cp_async_16(smem_ptr<T> to, gmem<U> from, bool valid = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
               "l"(__cvta_generic_to_global(from.data())), "r"(valid ? 16 : 0)
               : "memory");
}
/// The copies started since the last commit are a group.
FLASHBOOK_DEVICE void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most the `newest` last groups of this thread are under way. Other threads see
/// what was copied after a barrier.
template <int newest>
FLASHBOOK_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(newest) : "memory");
}

}  // namespace flashbook::gpu

#else

namespace flashbook::emulated {

template <class T, class U>
requires(std::is_same_v<std::remove_const_t<U>, T>) void cp_async_16(const smem_ptr<T>& to,
                                                                     const gmem<U>& from,
                                                                     bool valid = true,
                                                                     Site site = Site::here()) {
  simt::copy_async_16(simt::bytes(to.pointer()), simt::bytes(from.pointer()), valid, site);
}
inline void cp_async_commit() {
  simt::this_thread->copies.commit();
}
template <int newest>
void cp_async_wait() {
  simt::this_thread->copies.wait_group(newest);
}

}  // namespace flashbook::emulated

#endif
