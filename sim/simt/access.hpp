#pragma once

#include <cstring>
#include <type_traits>

#include "sim/simt/multiprocessor.hpp"
#include "sim/simt/pointer.hpp"

/// Single-lane accesses to memory by the running thread. V is what is moved: an element, or 4, 8 or
/// 16 bytes of neighbours. An access that may not be made is reported, reads as NaN and is not
/// written.
namespace flashbook::simt {

/// Reports an access of `bytes` at element `index` of `size`, which is outside or misaligned.
void refuse_access(bool outside, std::size_t bytes, std::ptrdiff_t index, std::ptrdiff_t size,
                   Site site);

/// Counts an access to shared memory and checks it for races.
void observe_shared(const void* p, unsigned bytes, bool is_write, Site site);
/// Counts an access to global memory and checks it against other blocks'.
void observe_global(const void* p, unsigned bytes, GlobalShadow::Use use, Site site);

/// A block's shared memory, NaN at first. Ends the launch if it is smaller than `bytes`.
std::byte* shared_memory(std::size_t bytes, Site site);

namespace detail {

template <class V, class T>
bool admits(const Pointer<T>& p, Site site) {
  if (p.template admits<V>()) [[likely]]
    return true;
  const bool outside = p.at < p.begin || p.at >= p.end || p.bytes_left() < sizeof(V);
  refuse_access(outside, sizeof(V), p.index(), p.size(), site);
  return false;
}

template <class V>
V poison() {
  V value;
  std::memset(static_cast<void*>(&value), 0xff, sizeof value);
  return value;
}

template <class V>
V copy_of(const void* p) {
  V value;
  std::memcpy(static_cast<void*>(&value), p, sizeof value);
  return value;
}

}  // namespace detail

template <class V, class T>
V load_shared(const Pointer<T>& p, Site site) {
  if (!detail::admits<V>(p, site)) return detail::poison<V>();
  if (sm->observes()) observe_shared(p.at, sizeof(V), false, site);
  return detail::copy_of<V>(p.at);
}

template <class V, class T>
void store_shared(const Pointer<T>& p, const V& value, Site site) {
  if (!detail::admits<V>(p, site)) return;
  if (sm->observes()) observe_shared(p.at, sizeof(V), true, site);
  std::memcpy(static_cast<void*>(p.at), &value, sizeof value);
}

template <class V, class T>
V load_global(const Pointer<T>& p, Site site) {
  if (!detail::admits<V>(p, site)) return detail::poison<V>();
  if (sm->observes()) observe_global(p.at, sizeof(V), GlobalShadow::Use::read, site);
  return detail::copy_of<V>(p.at);
}

template <class V, class T>
void store_global(const Pointer<T>& p, const V& value, Site site) {
  if (!detail::admits<V>(p, site)) return;
  if (sm->observes()) observe_global(p.at, sizeof(V), GlobalShadow::Use::write, site);
  std::memcpy(static_cast<void*>(p.at), &value, sizeof value);
}

/// Adds to an fp32 element of global memory, whatever other blocks do. Ends the launch unless its
/// shape says float_atomics.
void atomic_add_global(const Pointer<float>& p, float value, Site site);

/// cp.async: 16 bytes from global to shared memory, zeros if not `valid`; lands in the wait.
void copy_async_16(const Pointer<std::byte>& target, const Pointer<const std::byte>& source,
                   bool valid, Site site);

}  // namespace flashbook::simt
