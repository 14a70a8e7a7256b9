#include "cuda/api/emulated_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace flashbook {
namespace {

constexpr std::align_val_t alignment{256};

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class EmulatedRepeats : public Repeated {
 public:
  explicit EmulatedRepeats(std::vector<std::function<void()>> launches)
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

void EmulatedDevice::fill(void* memory, std::byte value, std::size_t bytes) {
  if (bytes > 0) std::memset(memory, std::to_integer<int>(value), bytes);
}

Device::Memory EmulatedDevice::memory() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {page * static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)),
          page * static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES))};
}

std::unique_ptr<Repeated> EmulatedDevice::repeat(std::vector<std::function<void()>> launches) {
  return std::make_unique<EmulatedRepeats>(std::move(launches));
}

double EmulatedDevice::copy_rate() {
  const std::vector<char> from(std::size_t{64} << 20, 1);
  std::vector<char> to(from.size());
  std::vector<double> times(7);
  for (double& time : times)
    time = seconds_of([&] { std::memcpy(to.data(), from.data(), from.size()); });
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return 2 * static_cast<double>(from.size()) / times[3];
}

double EmulatedDevice::seconds(std::span<const std::function<void()>> launches) {
  return EmulatedRepeats({launches.begin(), launches.end()}).seconds();
}

}  // namespace flashbook
