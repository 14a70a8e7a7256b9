// Memory of a device that notices what is written outside it, and tensors of a caller in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cuda/api/device.hpp"
#include "cuda/forward/kernels.hpp"

namespace flashbook {

/// Memory of a device between two guard bands. At first every byte, bands included, is 0xff: NaN
/// in every type, so that a kernel which reads what nobody wrote shows it.
class DeviceMemory {
 public:
  DeviceMemory(Device& device, std::size_t bytes);
  ~DeviceMemory() { device_.release(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const { return memory_ + band; }
  std::size_t size() const { return size_; }
  /// Throws std::runtime_error that names `what` if a band was written to.
  void check_bands(const std::string& what) const;
  /// Its bytes, between bands that were checked.
  std::vector<std::byte> read(const std::string& what) const;

  static constexpr std::size_t band = 256;

 private:
  Device& device_;
  std::size_t size_, band_behind_;  // which fills up the last 256 bytes
  std::byte* memory_;
};

/// A tensor of a caller and its copy on a device.
class DeviceTensor {
 public:
  /// Copies the whole span, gaps between strides included: what they hold must survive. `host` is
  /// element (0, 0, 0, 0), or null: there is no such tensor.
  DeviceTensor(Device& device, std::string name, const void* host, const Span& span,
               std::size_t element_bytes);

  /// Element (0, 0, 0, 0) on the device, or null.
  void* data() const { return memory_ ? memory_->data() + before_first() : nullptr; }
  /// Copies to `host` the elements that have changed on the device. Others, such as those of a
  /// tensor that is interleaved with this one, are not written.
  void copy_back(void* host) const;
  /// Throws std::runtime_error that names it if it was written to, or memory next to it.
  void check_unchanged() const;

 private:
  std::size_t before_first() const { return static_cast<std::size_t>(-first_) * element_bytes_; }

  std::string name_;
  std::int64_t first_;
  std::size_t element_bytes_;
  std::vector<std::byte> before_;
  std::optional<DeviceMemory> memory_;  // or none: there is no such tensor
};

}  // namespace flashbook
