#include "cuda/api/device_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
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

}  // namespace

DeviceMemory::DeviceMemory(Device& device, std::size_t bytes)
    : device_(device),
      size_(bytes),
      memory_(static_cast<std::byte*>(device.allocate(bytes + 2 * band))) {
  device_.fill(memory_, untouched, bytes + 2 * band);
}

void DeviceMemory::check_bands(const std::string& what) const {
  std::array<std::byte, band> bytes;
  for (const std::byte* at : {memory_, data() + size_}) {
    device_.copy_out(bytes.data(), at, band);
    if (!std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == untouched; }))
      throw std::runtime_error("memory next to " + what + " was written to");
  }
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
      is_null_(host == nullptr),
      first_(span.first),
      element_bytes_(element_bytes),
      before_(bytes_at(host, span, element_bytes)),
      memory_(device, before_.size()) {
  device.copy_in(memory_.data(), before_.data(), before_.size());
}

void DeviceTensor::copy_back(void* host) const {
  const std::vector<std::byte> now = memory_.read(name_);
  std::byte* first = static_cast<std::byte*>(host) - before_first();
  for (std::size_t i = 0; i < now.size(); i += element_bytes_)
    if (std::memcmp(&now[i], &before_[i], element_bytes_) != 0)
      std::memcpy(first + i, &now[i], element_bytes_);
}

}  // namespace flashbook
