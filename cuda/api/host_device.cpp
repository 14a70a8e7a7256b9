#include "cuda/api/host_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace flashbook {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t guard = std::size_t{16} << 20;  // addresses, no memory; whole pages

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class HostRepeats : public Repeated {
 public:
  explicit HostRepeats(std::vector<std::function<void()>> launches)
      : launches_(std::move(launches)) {}

  double seconds() override {
    return seconds_of([&] {
             for (const auto& launch : launches_) launch();
           }) /
           static_cast<double>(launches_.size());
  }

 private:
  std::vector<std::function<void()>> launches_;
};

}  // namespace

/// Pages that nobody may touch, the memory up to its last 255 bytes at the end of its own pages,
/// and other such pages.
void* HostDevice::allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t ours = rounded_up(bytes, page), all = ours + 2 * guard;
  void* const first =
      ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (first == MAP_FAILED) throw std::bad_alloc();
  std::byte* const open = static_cast<std::byte*>(first) + guard;
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

void HostDevice::fill(void* memory, std::byte value, std::size_t bytes) {
  if (bytes > 0) std::memset(memory, std::to_integer<int>(value), bytes);
}

Device::Memory HostDevice::memory() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {page * static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)),
          page * static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES))};
}

std::unique_ptr<Repeated> HostDevice::repeat(std::vector<std::function<void()>> launches) {
  return std::make_unique<HostRepeats>(std::move(launches));
}

double HostDevice::copy_rate() {
  const std::vector<char> from(std::size_t{64} << 20, 1);
  std::vector<char> to(from.size());
  std::vector<double> times(7);
  for (double& time : times)
    time = seconds_of([&] { std::memcpy(to.data(), from.data(), from.size()); });
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return 2 * static_cast<double>(from.size()) / times[3];
}

double HostDevice::seconds(std::span<const std::function<void()>> launches) {
  return HostRepeats({launches.begin(), launches.end()}).seconds();
}

}  // namespace flashbook
