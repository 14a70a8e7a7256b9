#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cuda/api/place.hpp"

namespace flashbook {

/// Launches that were made ready to be timed again and again.
class Repeated {
 public:
  Repeated() = default;
  virtual ~Repeated() = default;
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  /// Runs them untimed until the machine is as busy with them, and as hot, as it gets: what ran
  /// before has left its mark on a GPU's clocks, for longer than a time takes.
  virtual void settle() {}
  /// Runs them once more, in turn, as often as a time needs: seconds of one launch, the mean.
  virtual double seconds() = 0;
};

/// A machine that runs kernels: memory, copies, and one stream. For one thread at a time; threads
/// that run kernels at once have a device object each.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Memory that is aligned to 256 bytes and holds anything. Throws std::bad_alloc.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Told what lies in memory that it has allocated: an address that faults has a name then.
  virtual void note(const Place&) {}
  /// Copies between the caller's memory and the machine's; done when they return.
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
  /// Sets each byte of the machine's memory to `value`; done when it returns.
  virtual void fill(void* memory, std::byte value, std::size_t bytes) = 0;
  /// Bytes of memory that are not taken, and all there are.
  struct Memory {
    std::size_t free, total;
  };
  virtual Memory memory() const = 0;
  /// What launchers are given (cuda/isa/launch.cuh).
  virtual void* stream() = 0;
  /// Waits for all that was launched. Throws std::runtime_error with what went wrong.
  virtual void finish() = 0;

  /// Makes launches ready to be timed: on a GPU they run here once, to warm up, and then in a CUDA
  /// graph; give them tensors of their own that together exceed the L2 cache. On the emulator each
  /// runs once a time, which says how long the emulation takes.
  virtual std::unique_ptr<Repeated> repeat(std::vector<std::function<void()>> launches) = 0;
  /// Bytes a second that a large copy within the memory reads and writes together: a median.
  virtual double copy_rate() = 0;
  /// Seconds that one of these launches takes: on a GPU a median, on the emulator of one time.
  virtual double seconds(std::span<const std::function<void()>> launches) = 0;
  /// Launches once and waits. A profiler told to wait for the program sees nothing else
  /// (ncu --profile-from-start off).
  virtual void profiled(const std::function<void()>& launch) = 0;
};

/// How many sets of tensors, of so many bytes each, together exceed the L2 cache of any GPU we
/// know.
inline std::size_t rotated_sets(std::size_t bytes) {
  constexpr std::size_t cache_bytes = std::size_t{128} << 20;
  return std::clamp<std::size_t>(cache_bytes / (bytes + 1) + 1, 2, 32);
}

}  // namespace flashbook
