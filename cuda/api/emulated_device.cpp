#include "cuda/api/emulated_device.hpp"

#include <chrono>
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
  if (bytes > 0) std::memcpy(to, from, bytes);  // a tensor of no element may be null
}

void EmulatedDevice::copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // a tensor of no element may be null
}

double EmulatedDevice::seconds(std::span<const std::function<void()>> launches) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& launch : launches) launch();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(launches.size());
}

}  // namespace flashbook
