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

std::uintptr_t address_of(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

/// A plug-in may ask for any number of bytes, and bands come on top.
std::size_t addressable(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  return bytes;
}

}  // namespace

DeviceMemory::DeviceMemory(Device& device, const std::string& what, std::size_t bytes)
    : DeviceMemory(device, what, {0, static_cast<std::int64_t>(addressable(bytes))}, 1) {}

DeviceMemory::DeviceMemory(Device& device, const std::string& what, const Span& span,
                           std::size_t element_bytes)
    : device_(device),
      size_(static_cast<std::size_t>(span.size) * element_bytes),
      band_behind_(2 * band - 1 - (size_ + band - 1) % band),
      memory_(static_cast<std::byte*>(device.allocate(band + size_ + band_behind_)),
              Release{device}),
      place_{} {
  device_.fill(memory_.get(), untouched, band + size_ + band_behind_);
  what.copy(place_.name, sizeof place_.name - 1);
  place_.first = span.first, place_.size = span.size;
  place_.element_bytes = static_cast<std::int64_t>(element_bytes);
  place_.zero = address_of(data()) - static_cast<std::uintptr_t>(span.first * place_.element_bytes);
  device_.note(place_);
}

void DeviceMemory::fail(const std::byte* written) const {
  throw std::runtime_error("memory was written to " + place_.text(address_of(written)));
}

/// Of what was written the nearest is named.
void DeviceMemory::check_bands() const {
  const auto is_written = [](std::byte b) { return b != untouched; };
  std::vector<std::byte> before(band), behind(band_behind_);
  device_.copy_out(before.data(), memory_.get(), before.size());
  device_.copy_out(behind.data(), data() + size_, behind.size());
  const auto last = std::find_if(before.rbegin(), before.rend(), is_written);
  if (last != before.rend()) fail(data() - 1 - (last - before.rbegin()));
  const auto first = std::find_if(behind.begin(), behind.end(), is_written);
  if (first != behind.end()) fail(data() + size_ + (first - behind.begin()));
}

std::vector<std::byte> DeviceMemory::read() const {
  check_bands();
  std::vector<std::byte> bytes(size_);
  device_.copy_out(bytes.data(), data(), size_);
  return bytes;
}

DeviceTensor::DeviceTensor(Device& device, const std::string& name, const void* host,
                           const Span& span, std::size_t element_bytes)
    : before_(bytes_at(host, span, element_bytes)) {
  if (!host) return;
  memory_.emplace(device, name, span, element_bytes);
  device.copy_in(memory_->data(), before_.data(), before_.size());
}

void DeviceTensor::copy_back(void* host) const {
  if (!memory_) return;
  const std::vector<std::byte> now = memory_->read();
  const auto element_bytes = static_cast<std::size_t>(memory_->place().element_bytes);
  std::byte* first = static_cast<std::byte*>(host) - bytes_before_zero();
  for (std::size_t i = 0; i < now.size(); i += element_bytes)
    if (std::memcmp(&now[i], &before_[i], element_bytes) != 0)
      std::memcpy(first + i, &now[i], element_bytes);
}

void DeviceTensor::check_unchanged() const {
  if (!memory_) return;
  const std::vector<std::byte> now = memory_->read();
  const auto changed = std::mismatch(now.begin(), now.end(), before_.begin()).first - now.begin();
  if (changed < std::ssize(now))
    throw std::runtime_error("memory was written to that is only read: " +
                             memory_->place().text(address_of(memory_->data() + changed)));
}

}  // namespace flashbook
