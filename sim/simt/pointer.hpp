#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace flashbook::simt {

/// An address that knows the memory it may refer to: [begin, end). Arithmetic is free; accesses are
/// checked. There is no way to the element but through load and store.
template <class T>
struct Pointer {
  T* at = nullptr;
  T* begin = nullptr;
  T* end = nullptr;

  constexpr Pointer() = default;
  constexpr Pointer(T* where, T* first, T* last) : at(where), begin(first), end(last) {}
  template <class U>
  requires(std::is_same_v<const U, T>) constexpr Pointer(const Pointer<U>& p)
      : at(p.at), begin(p.begin), end(p.end) {}

  /// A tensor of no element may have no address either; then nothing is anywhere in it. The sum is
  /// of numbers, since it may lie outside, where C++ has no pointers.
  Pointer operator+(std::ptrdiff_t elements) const {
    const auto moved =
        reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(elements) * sizeof(T);
    return {at ? reinterpret_cast<T*>(moved) : at, begin, end};
  }

  /// Whether all bytes of a V lie in the memory, and at an address that is a multiple of its size.
  template <class V>
  bool admits() const {
    return at >= begin && at < end && bytes_left() >= sizeof(V) &&
           reinterpret_cast<std::uintptr_t>(at) % sizeof(V) == 0;
  }
  std::size_t bytes_left() const { return static_cast<std::size_t>(end - at) * sizeof(T); }
  std::ptrdiff_t index() const { return at - begin; }
  std::ptrdiff_t size() const { return end - begin; }
};

/// The same memory as bytes, const if it was.
template <class T>
auto bytes(const Pointer<T>& p) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  const auto cast = [](T* q) { return reinterpret_cast<Byte*>(q); };
  return Pointer<Byte>(cast(p.at), cast(p.begin), cast(p.end));
}

}  // namespace flashbook::simt
