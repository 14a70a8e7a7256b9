#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "cuda/isa/isa.cuh"

namespace flashbook::book {

/// Global memory for kernels on the emulator: n values, aligned as an allocation of a GPU is.
template <class T>
class DeviceArray {
 public:
  DeviceArray(std::size_t n, T value)
      : data_(static_cast<T*>(::operator new(n * sizeof(T), alignment))), size_(n) {
    std::uninitialized_fill_n(data(), n, value);
  }

  T* data() { return data_.get(); }
  T& operator[](std::size_t i) { return data()[i]; }
  std::size_t size() const { return size_; }
  emulated::gmem<T> view() { return {data(), static_cast<std::ptrdiff_t>(size_)}; }
  emulated::gmem<const T> constant() { return view(); }

 private:
  static constexpr std::align_val_t alignment{256};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };

  std::unique_ptr<T, Delete> data_;
  std::size_t size_;
};

}  // namespace flashbook::book
