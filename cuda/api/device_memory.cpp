#include "cuda/api/device_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace flashbook {
namespace {

constexpr std::byte untouched{0xff};

std::vector<std::byte> bytes_at(const void* host, const Span& span, std::size_t element_bytes) {
  if (!host || span.size == 0) return {};
  const auto* first =
      static_cast<const std::byte*>(host) + span.first * static_cast<std::ptrdiff_t>(element_bytes);
  return {first, first + static_cast<std::size_t>(span.size) * element_bytes};
}

/// A plug-in may ask for any number of bytes, and bands come on top.
std::size_t addressable(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  return bytes;
}

}  // namespace

DeviceMemory::DeviceMemory(Device& device, std::size_t bytes)
    : device_(device),
      size_(addressable(bytes)),
      band_behind_(2 * band - 1 - (bytes + band - 1) % band),
      memory_(static_cast<std::byte*>(device.allocate(band + bytes + band_behind_)),
              Release{device}) {
  device_.fill(memory_.get(), untouched, band + bytes + band_behind_);
}

void DeviceMemory::check_bands(const std::string& what) const {
  std::vector<std::byte> bytes(band + band_behind_);
  device_.copy_out(bytes.data(), memory_.get(), band);
  device_.copy_out(bytes.data() + band, data() + size_, band_behind_);
  if (!std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == untouched; }))
    throw std::runtime_error("memory next to " + what + " was written to");
}

std::vector<std::byte> DeviceMemory::read(const std::string& what) const {
  check_bands(what);
  std::vector<std::byte> bytes(size_);
  device_.copy_out(bytes.data(), data(), size_);
  return bytes;
}

DeviceTensor::DeviceTensor(Device& device, std::string name, const void* host, const Span& span,
                           std::size_t element_bytes)
    : name_(std::move(name)),
      first_(span.first),
      element_bytes_(element_bytes),
      before_(bytes_at(host, span, element_bytes)) {
  if (!host) return;
  memory_.emplace(device, before_.size());
  device.copy_in(memory_->data(), before_.data(), before_.size());
}

void DeviceTensor::copy_back(void* host) const {
  if (!memory_) return;
  const std::vector<std::byte> now = memory_->read(name_);
  std::byte* first = static_cast<std::byte*>(host) - before_first();
  for (std::size_t i = 0; i < now.size(); i += element_bytes_)
    if (std::memcmp(&now[i], &before_[i], element_bytes_) != 0)
      std::memcpy(first + i, &now[i], element_bytes_);
}

void DeviceTensor::check_unchanged() const {
  if (memory_ && memory_->read(name_) != before_)
    throw std::runtime_error(name_ + " was written to, which is only read");
}

}  // namespace flashbook
