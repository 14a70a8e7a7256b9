#include "cuda/api/emulated_device.hpp"

#include <cstring>
#include <new>

namespace flashbook {
namespace {

constexpr std::align_val_t alignment{256};

}  // namespace

void* EmulatedDevice::allocate(std::size_t bytes) {
  return ::operator new(bytes, alignment);
}

void EmulatedDevice::release(void* memory) noexcept {
  ::operator delete(memory, alignment);
}

void EmulatedDevice::copy_in(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void EmulatedDevice::copy_out(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

}  // namespace flashbook
