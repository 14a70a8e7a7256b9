#pragma once

#include <cstddef>

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
};

}  // namespace flashbook
