// Views of memory. A kernel reaches global memory through gmem<T>, which its launcher makes of a
// pointer and a size, and shared memory through the tiles of tile.cuh, whose addresses are
// smem_ptr<T>. On a GPU a view is a pointer. On the emulator it knows its bounds and sees each
// access; a raw dereference does not compile there.
//
//   gmem<const float> x;  gmem<float> y;
//   y(i) = 2 * x(i);                           // one element
//   uint4 eight = load_vector<uint4>(x + i);   // 4, 8 or 16 bytes, aligned to as many
//
// Write `float v = x(i)`, not `auto v`: on the emulator x(i) is a reference that reads when
// converted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

using ::float4;
using ::uint2;
using ::uint4;

namespace detail {
template <class T, class Space>
class View {
 public:
  View() = default;
  FLASHBOOK_HOST_DEVICE explicit View(T* data) : data_(data) {}
  FLASHBOOK_HOST_DEVICE View(T* data, std::ptrdiff_t) : data_(data) {}
  template <class U>
  requires(std::is_same_v<const U, T>) FLASHBOOK_HOST_DEVICE View(View<U, Space> view)
      : data_(view.data()) {}

  FLASHBOOK_DEVICE T& operator()(std::ptrdiff_t i) const { return data_[i]; }
  FLASHBOOK_HOST_DEVICE View operator+(std::ptrdiff_t n) const { return View(data_ + n); }
  FLASHBOOK_HOST_DEVICE T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

struct Global {};
struct Shared {};

/// PTX ISA, "Data Movement and Conversion Instructions: cvta". Folded away by ptxas.
template <class T>
FLASHBOOK_DEVICE uint32_t shared_address(View<T, Shared> view) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(view.data()));
}

// Stores as PTX, for nvcc makes two or four of one of a struct where a branch surrounds it.
template <class T>
FLASHBOOK_DEVICE void store(View<T, Global> to, uint2 x) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};"
               :
               : "l"(__cvta_generic_to_global(to.data())), "r"(x.x), "r"(x.y)
               : "memory");
}
template <class T>
FLASHBOOK_DEVICE void store(View<T, Global> to, uint4 x) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to.data())), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}
template <class T>
FLASHBOOK_DEVICE void store(View<T, Shared> to, uint2 x) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};"
               :
               : "r"(shared_address(to)), "r"(x.x), "r"(x.y)
               : "memory");
}
template <class T>
FLASHBOOK_DEVICE void store(View<T, Shared> to, uint4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(to)), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}
}  // namespace detail

template <class T>
using gmem = detail::View<T, detail::Global>;
template <class T>
using smem_ptr = detail::View<T, detail::Shared>;

/// The bytes of a V (uint32_t, uint2, uint4 or float4) at an address that is a multiple of its
/// size. One instruction. PTX ISA, "Data Movement and Conversion Instructions: ld", "st".
template <class V, class T, class Space>
FLASHBOOK_DEVICE V load_vector(detail::View<T, Space> from) {
  return *reinterpret_cast<const V*>(from.data());
}
template <class V, class T, class Space>
FLASHBOOK_DEVICE void store_vector(detail::View<T, Space> to, V value) {
  if constexpr (sizeof(V) == 4)
    *reinterpret_cast<V*>(to.data()) = value;
  else if constexpr (sizeof(V) == 8)
    detail::store(to, std::bit_cast<uint2>(value));
  else
    detail::store(to, std::bit_cast<uint4>(value));
}

/// Adds to an element, whatever other threads and blocks do. The order of additions, and so the
/// rounding, is left open. PTX ISA, "Parallel Synchronization and Communication Instructions: red".
FLASHBOOK_DEVICE void atomic_add(gmem<float> to, float value) {
  atomicAdd(to.data(), value);
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/access.hpp"

namespace flashbook::emulated {

struct uint2 {
  uint32_t x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};
struct float4 {
  float x, y, z, w;
};

namespace detail {

struct Global {
  template <class V, class T>
  static V load(const simt::Pointer<T>& from, Site site) {
    return simt::load_global<V>(from, site);
  }
  template <class V, class T>
  static void store(const simt::Pointer<T>& to, const V& value, Site site) {
    simt::store_global(to, value, site);
  }
};

struct Shared {
  template <class V, class T>
  static V load(const simt::Pointer<T>& from, Site site) {
    return simt::load_shared<V>(from, site);
  }
  template <class V, class T>
  static void store(const simt::Pointer<T>& to, const V& value, Site site) {
    simt::store_shared(to, value, site);
  }
};

/// What stands for an element: reads when converted, writes when assigned. Only a temporary does
/// either, so a copy kept in a variable by `auto` does not compile.
template <class T, class Space>
class Reference {
 public:
  using Value = std::remove_const_t<T>;

  Reference(const simt::Pointer<T>& at, Site site) : at_(at), site_(site) {}
  Reference(const Reference&) = delete;
  /// `sees ? t.q(i) : 0` would be an int here, and is a float on a GPU. As the 0 could become a
  /// Reference, too, it does not compile: 0.0f is meant. Not defined, as nothing else may use it.
  template <class U>
  requires(std::is_integral_v<U>&& std::is_floating_point_v<Value>) Reference(U);

  operator Value() && { return value(); }
  void operator=(Value x) && requires(!std::is_const_v<T>) { Space::store(at_, x, site_); }
  void operator=(Reference&& other) && { Space::store(at_, other.value(), site_); }
  template <class U, class S>
  void operator=(Reference<U, S>&& other) && {
    Space::store(at_, static_cast<Value>(other.value()), site_);
  }
  void operator+=(Value x) && requires(!std::is_const_v<T>) {
    Space::store(at_, static_cast<Value>(value() + x), site_);
  }
  void operator-=(Value x) && requires(!std::is_const_v<T>) {
    Space::store(at_, static_cast<Value>(value() - x), site_);
  }
  void operator*=(Value x) && requires(!std::is_const_v<T>) {
    Space::store(at_, static_cast<Value>(value() * x), site_);
  }

 private:
  template <class, class>
  friend class Reference;
  Value value() const { return Space::template load<Value>(at_, site_); }

  simt::Pointer<T> at_;
  Site site_;
};

template <class T, class Space>
class View {
 public:
  View() = default;
  /// `size` elements from `data` on.
  View(T* data, std::ptrdiff_t size) : at_(data, data, data + size) {}
  explicit View(const simt::Pointer<T>& at) : at_(at) {}
  template <class U>
  requires(std::is_same_v<const U, T>) View(const View<U, Space>& view) : at_(view.pointer()) {}

  Reference<T, Space> operator()(std::ptrdiff_t i, Site site = Site::here()) const {
    return {at_ + i, site};
  }
  View operator+(std::ptrdiff_t n) const { return View(at_ + n); }
  const simt::Pointer<T>& pointer() const { return at_; }

 private:
  simt::Pointer<T> at_;
};

}  // namespace detail

template <class T>
using gmem = detail::View<T, detail::Global>;
template <class T>
using smem_ptr = detail::View<T, detail::Shared>;

template <class V, class T, class Space>
V load_vector(const detail::View<T, Space>& from, Site site = Site::here()) {
  return Space::template load<V>(from.pointer(), site);
}
template <class V, class T, class Space>
void store_vector(const detail::View<T, Space>& to, V value, Site site = Site::here()) {
  Space::store(to.pointer(), value, site);
}

inline void atomic_add(const gmem<float>& to, float value, Site site = Site::here()) {
  simt::atomic_add_global(to.pointer(), value, site);
}

}  // namespace flashbook::emulated

#endif
