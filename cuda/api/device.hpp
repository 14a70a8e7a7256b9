#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace flashbook {

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
  /// Copies between the caller's memory and the machine's; done when they return.
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
  /// What launchers are given (cuda/isa/launch.cuh).
  virtual void* stream() = 0;
  /// Waits for all that was launched. Throws std::runtime_error with what went wrong.
  virtual void finish() = 0;

  /// Seconds that one of these launches takes. On a GPU they run in turn, often, after a warm-up,
  /// and the time is a median; give them tensors of their own that together exceed the L2 cache. On
  /// the emulator each runs once: the time says how long the emulation takes.
  virtual double seconds(std::span<const std::function<void()>> launches) = 0;
  /// Launches once and waits. A profiler told to wait for the program sees nothing else
  /// (ncu --profile-from-start off).
  virtual void profiled(const std::function<void()>& launch) = 0;
};

}  // namespace flashbook
