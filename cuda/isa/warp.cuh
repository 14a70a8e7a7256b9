// What the 32 lanes of a warp do together. All of them must come, to the same call.
#pragma once

#include <cstdint>

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

namespace detail {
constexpr unsigned whole_warp = 0xffffffffu;
}

// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync". T has 4 bytes. Where the source
// lane would be outside of the warp, the lane keeps its own value.

/// `value` of lane `source` % 32.
template <class T>
FLASHBOOK_DEVICE T shuffle(T value, int source) {
  return __shfl_sync(detail::whole_warp, value, source);
}
/// `value` of the lane whose number differs in the bits of `mask`.
template <class T>
FLASHBOOK_DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(detail::whole_warp, value, mask);
}
/// `value` of the lane `distance` below.
template <class T>
FLASHBOOK_DEVICE T shuffle_up(T value, unsigned distance) {
  return __shfl_up_sync(detail::whole_warp, value, distance);
}
/// `value` of the lane `distance` above.
template <class T>
FLASHBOOK_DEVICE T shuffle_down(T value, unsigned distance) {
  return __shfl_down_sync(detail::whole_warp, value, distance);
}

// PTX ISA, "Parallel Synchronization and Communication Instructions: vote.sync".

/// One bit a lane: whether its predicate holds.
FLASHBOOK_DEVICE uint32_t ballot(bool predicate) {
  return __ballot_sync(detail::whole_warp, predicate);
}
FLASHBOOK_DEVICE bool any(bool predicate) {
  return __any_sync(detail::whole_warp, predicate);
}
FLASHBOOK_DEVICE bool all(bool predicate) {
  return __all_sync(detail::whole_warp, predicate);
}

/// The lanes meet, and see what the others wrote to memory. Shuffles and votes do not do that.
/// PTX ISA, "Parallel Synchronization and Communication Instructions: bar.warp.sync".
FLASHBOOK_DEVICE void sync_warp() {
  __syncwarp();
}

}  // namespace flashbook::gpu

#else

#include <bit>

#include "sim/simt/collective.hpp"

namespace flashbook::emulated {

namespace detail {
template <class T>
T shuffled(T value, simt::ShuffleMode mode, unsigned operand, Site site) {
  return std::bit_cast<T>(simt::shuffle(std::bit_cast<uint32_t>(value), mode, operand, site));
}
}  // namespace detail

template <class T>
T shuffle(T value, int source, Site site = Site::here()) {
  return detail::shuffled(value, simt::ShuffleMode::index, static_cast<unsigned>(source), site);
}
template <class T>
T shuffle_xor(T value, int mask, Site site = Site::here()) {
  return detail::shuffled(value, simt::ShuffleMode::bit_xor, static_cast<unsigned>(mask), site);
}
template <class T>
T shuffle_up(T value, unsigned distance, Site site = Site::here()) {
  return detail::shuffled(value, simt::ShuffleMode::up, distance, site);
}
template <class T>
T shuffle_down(T value, unsigned distance, Site site = Site::here()) {
  return detail::shuffled(value, simt::ShuffleMode::down, distance, site);
}

inline uint32_t ballot(bool predicate, Site site = Site::here()) {
  return simt::ballot(predicate, site);
}
inline bool any(bool predicate, Site site = Site::here()) {
  return simt::ballot(predicate, site) != 0;
}
inline bool all(bool predicate, Site site = Site::here()) {
  return simt::ballot(!predicate, site) == 0;
}

inline void sync_warp(Site site = Site::here()) {
  simt::sync_warp(site);
}

}  // namespace flashbook::emulated

#endif
