// Copies of boxes of tensors by the copy engine, TMA, that one thread starts: sm_90.
//
//   tma_load(smem.K.at(0, 0), p.K, {column, row, head}, smem.full);   // innermost coordinate first
//   tma_store(p.O, {column, row, head}, smem.O.at(0, 0));
//
// A box begins at a multiple of 16 bytes of the innermost dimension, on either side of the tensor;
// a store's does not begin before it. A load tells an mbarrier of all bytes of the box, also of
// those outside the tensor, which are zeros. Stores are waited for by the thread that started them,
// in groups. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor",
// "cp.async.bulk", "cp.reduce.async.bulk" and "cp.reduce.async.bulk.tensor".
#pragma once

#include <cstdint>

#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/memory.cuh"
#include "cuda/isa/tensor_map.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// What the L2 cache is told of the data: the policies that createpolicy makes for all of an
/// access. PTX ISA, "Cache Eviction Priority Hints".
enum class L2 : uint64_t {
  normal = 0x1000000000000000u,
  drop = 0x12f0000000000000u,  ///< evict first
  keep = 0x14f0000000000000u,  ///< evict last
};

}  // namespace flashbook::FLASHBOOK_MACHINE

#ifdef __CUDACC__

namespace flashbook::gpu {

/// Starts to load the box at `at`.
template <class T, int rank>
FLASHBOOK_DEVICE void tma_load(smem_ptr<T> to, const TensorMap& map, const int (&at)[rank],
                               Mbarrier& full, L2 hint = L2::normal) {
  static_assert(rank >= 2 && rank <= 4);
  const uint32_t target = detail::shared_address(to), barrier = detail::shared_address(full);
  const auto policy = static_cast<uint64_t>(hint);
  if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(barrier), "l"(policy)
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier), "l"(policy)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(barrier), "l"(policy)
        : "memory");
}

/// The same into the blocks of the cluster whose bits `blocks` has, each time to the same place and
/// for the mbarrier in the same place.
template <class T, int rank>
FLASHBOOK_DEVICE void tma_load_multicast(smem_ptr<T> to, const TensorMap& map,
                                         const int (&at)[rank], Mbarrier& full, unsigned blocks,
                                         L2 hint = L2::normal) {
  static_assert(rank >= 2 && rank <= 4);
  const uint32_t target = detail::shared_address(to), barrier = detail::shared_address(full);
  const auto policy = static_cast<uint64_t>(hint);
  const auto mask = static_cast<uint16_t>(blocks);
  if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(barrier), "h"(mask), "l"(policy)
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier), "h"(mask), "l"(policy)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7, %8;" ::"r"(
            target),
        "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(barrier), "h"(mask),
        "l"(policy)
        : "memory");
}

/// Starts to store a box.
template <class T, int rank>
FLASHBOOK_DEVICE void tma_store(const TensorMap& map, const int (&at)[rank], smem_ptr<T> from) {
  static_assert(rank >= 2 && rank <= 4);
  const uint32_t source = detail::shared_address(from);
  if constexpr (rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
        "r"(at[0]), "r"(at[1]), "r"(source)
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
            &map),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(source)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
            &map),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(source)
        : "memory");
}

/// Starts to add a box of fp32 to its tensor, each element atomically.
template <int rank>
FLASHBOOK_DEVICE void tma_add(const TensorMap& map, const int (&at)[rank], smem_ptr<float> from) {
  static_assert(rank >= 2 && rank <= 4);
  const uint32_t source = detail::shared_address(from);
  if constexpr (rank == 2)
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], "
        "[%3];" ::"l"(&map),
        "r"(at[0]), "r"(at[1]), "r"(source)
        : "memory");
  else if constexpr (rank == 3)
    asm volatile(
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%1, %2, %3}], "
        "[%4];" ::"l"(&map),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(source)
        : "memory");
  else
    asm volatile(
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.bulk_group "
        "[%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(source)
        : "memory");
}

/// Starts to store `bytes` bytes in a row, a multiple of 16, between addresses that are, too.
template <class T>
FLASHBOOK_DEVICE void bulk_store(gmem<T> to, smem_ptr<T> from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to.data())),
               "r"(detail::shared_address(from)), "r"(bytes)
               : "memory");
}
/// Starts to add as many, fp32, each element atomically.
FLASHBOOK_DEVICE void bulk_add(gmem<float> to, smem_ptr<float> from, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to.data())),
               "r"(detail::shared_address(from)), "r"(bytes)
               : "memory");
}

/// The stores started since the last commit are a group.
FLASHBOOK_DEVICE void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most the `newest` last groups of this thread still have to read shared memory.
template <int newest>
FLASHBOOK_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(newest) : "memory");
}
/// Waits until at most the `newest` last groups are under way.
template <int newest>
FLASHBOOK_DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(newest) : "memory");
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/bulk_store.hpp"

namespace flashbook::emulated {

template <class T, int rank>
void tma_load_multicast(const smem_ptr<T>& to, const TensorMap& map, const int (&at)[rank],
                        Mbarrier& full, unsigned blocks, L2 = L2::normal,
                        Site site = Site::here()) {
  simt::load_tensor(simt::bytes(to.pointer()), map, at, rank, detail::shared_offset(full, site),
                    blocks, site);
}
template <class T, int rank>
void tma_load(const smem_ptr<T>& to, const TensorMap& map, const int (&at)[rank], Mbarrier& full,
              L2 hint = L2::normal, Site site = Site::here()) {
  tma_load_multicast(to, map, at, full, 1u << simt::sm->rank(), hint, site);
}
template <class T, int rank>
void tma_store(const TensorMap& map, const int (&at)[rank], const smem_ptr<T>& from,
               Site site = Site::here()) {
  simt::store_tensor(map, at, rank, simt::bytes(from.pointer()), false, site);
}
template <int rank>
void tma_add(const TensorMap& map, const int (&at)[rank], const smem_ptr<float>& from,
             Site site = Site::here()) {
  simt::store_tensor(map, at, rank, simt::bytes(from.pointer()), true, site);
}
template <class T>
void bulk_store(const gmem<T>& to, const smem_ptr<T>& from, uint32_t bytes,
                Site site = Site::here()) {
  simt::store_bulk(simt::bytes(to.pointer()), simt::bytes(from.pointer()), bytes, false, site);
}
inline void bulk_add(const gmem<float>& to, const smem_ptr<float>& from, uint32_t bytes,
                     Site site = Site::here()) {
  simt::store_bulk(simt::bytes(to.pointer()), simt::bytes(from.pointer()), bytes, true, site);
}
inline void bulk_commit() {
  simt::this_thread->stores.commit();
}
template <int newest>
void bulk_wait_read() {
  simt::this_thread->stores.wait_group(newest);
}
template <int newest>
void bulk_wait() {
  simt::this_thread->stores.wait_group(newest);
}

}  // namespace flashbook::emulated

#endif
