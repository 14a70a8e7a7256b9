#include "cuda/api/host_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <new>

namespace flashbook {
namespace {

constexpr std::size_t alignment = 256;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

/// A page that nobody may touch, the memory up to its last 255 bytes at the end of its own pages,
/// and another such page.
void* HostDevice::allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t ours = rounded_up(bytes, page), all = ours + 2 * page;
  void* const first =
      ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (first == MAP_FAILED) throw std::bad_alloc();
  std::byte* const open = static_cast<std::byte*>(first) + page;
  if (ours > 0 && ::mprotect(open, ours, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(first, all);
    throw std::bad_alloc();
  }
  std::byte* const memory = open + ours - rounded_up(bytes, alignment);
  pages_[memory] = {first, all};
  return memory;
}

void HostDevice::release(void* memory) noexcept {
  const auto found = pages_.find(memory);
  ::munmap(found->second.first, found->second.bytes);
  pages_.erase(found);
}

void HostDevice::copy_in(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // a tensor of no element may be null
}

void HostDevice::copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // a tensor of no element may be null
}

double HostDevice::seconds(std::span<const std::function<void()>> launches) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& launch : launches) launch();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(launches.size());
}

}  // namespace flashbook
