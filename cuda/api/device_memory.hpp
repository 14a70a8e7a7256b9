// Memory of a device that notices what is written outside it, and tensors of a caller in it.
#pragma once

#include <cstddef>
#include <memory>
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
  /// `what` names it in errors.
  DeviceMemory(Device& device, const std::string& what, std::size_t bytes);
  /// For a tensor of the elements `span`.
  DeviceMemory(Device& device, const std::string& what, const Span& span,
               std::size_t element_bytes);

  std::byte* data() const { return memory_.get() + band; }
  std::size_t size() const { return size_; }
  const Place& place() const { return place_; }
  /// Throws std::runtime_error that says beside which element of it a band was written to.
  void check_bands() const;
  /// Its bytes, between bands that were checked.
  std::vector<std::byte> read() const;

  static constexpr std::size_t band = 256;

 private:
  struct Release {
    Device& device;
    void operator()(std::byte* memory) const { device.release(memory); }
  };

  [[noreturn]] void fail(const std::byte* written) const;

  Device& device_;
  std::size_t size_, band_behind_;  // which fills up the last 256 bytes
  std::unique_ptr<std::byte, Release> memory_;
  Place place_;
};

/// A tensor of a caller and its copy on a device.
class DeviceTensor {
 public:
  /// Copies the whole span, gaps between strides included: what they hold must survive. `host` is
  /// element (0, 0, 0, 0), or null: there is no such tensor.
  DeviceTensor(Device& device, const std::string& name, const void* host, const Span& span,
               std::size_t element_bytes);

  /// Element (0, 0, 0, 0) on the device, or null.
  void* data() const { return memory_ ? memory_->data() + bytes_before_zero() : nullptr; }
  /// Copies to `host` the elements that have changed on the device. Others, such as those of a
  /// tensor that is interleaved with this one, are not written.
  void copy_back(void* host) const;
  /// Throws std::runtime_error that names it if it was written to, or memory next to it.
  void check_unchanged() const;

 private:
  std::ptrdiff_t bytes_before_zero() const {
    return -memory_->place().first * memory_->place().element_bytes;
  }

  std::vector<std::byte> before_;
  std::optional<DeviceMemory> memory_;  // or none: there is no such tensor
};

}  // namespace flashbook
