#include "tests/conformance/storage.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flashbook::conformance {
namespace {

constexpr std::int64_t guard = 64;  // elements on either side

/// Eight bytes of signalling NaNs with a payload: arithmetic yields quiet ones.
std::uint64_t poison(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return 0x7DA57DA57DA57DA5;
    case DType::bf16:
      return 0x7FA57FA57FA57FA5;
    case DType::fp32:
      return 0x7FA5A5A57FA5A5A5;
    case DType::fp64:
      break;
  }
  return 0x7FF5A5A5A5A5A5A5;
}

/// Whether the T at `data` is that of `poison`.
template <class T>
bool equals(const std::byte* data, std::uint64_t poison) {
  T bits;
  std::memcpy(&bits, data, sizeof bits);
  return bits == static_cast<T>(poison);
}

}  // namespace

Layout contiguous(const std::array<std::int64_t, 4>& sizes) {
  Layout layout = {sizes, {0, 0, 0, 1}};
  for (std::size_t axis = 3; axis > 0; --axis)
    layout.strides[axis - 1] = layout.strides[axis] * sizes[axis];
  return layout;
}

bool is_same(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

Storage::Storage(DType dtype, const Layout& layout)
    : dtype_(dtype), layout_(layout), item_(static_cast<std::size_t>(bytes_of(dtype))) {
  std::int64_t below = 0, above = layout.size() > 0 ? 1 : 0;
  for (std::size_t axis = 0; axis < 4 && layout.size() > 0; ++axis) {
    const std::int64_t reach = (layout.sizes[axis] - 1) * layout.strides[axis];
    (reach < 0 ? below : above) += reach;
  }
  origin_ = static_cast<std::size_t>(guard - below);
  bytes_.resize(static_cast<std::size_t>(2 * guard + above - below) * item_);
  const std::uint64_t pattern = poison(dtype_);
  for (std::size_t i = 0; i < bytes_.size(); i += sizeof pattern)
    std::memcpy(bytes_.data() + i, &pattern, std::min(sizeof pattern, bytes_.size() - i));
}

std::size_t Storage::offset(std::int64_t index) const {
  std::int64_t element = 0;
  for (std::size_t axis = 4; axis-- > 0;) {
    element += index % layout_.sizes[axis] * layout_.strides[axis];
    index /= layout_.sizes[axis];
  }
  return static_cast<std::size_t>(static_cast<std::int64_t>(origin_) + element) * item_;
}

void Storage::set(std::int64_t index, double value) {
  with_element_type(dtype_, [&](auto element) {
    element = round_to<decltype(element)>(value);
    std::memcpy(bytes_.data() + offset(index), &element, sizeof element);
  });
}

double Storage::get(std::int64_t index) const {
  return with_element_type(dtype_, [&](auto element) {
    std::memcpy(&element, bytes_.data() + offset(index), sizeof element);
    return static_cast<double>(element);
  });
}

bool Storage::is_poison(std::size_t byte) const {
  const std::byte* data = bytes_.data() + byte;
  const std::uint64_t pattern = poison(dtype_);
  if (item_ == 2) return equals<std::uint16_t>(data, pattern);
  if (item_ == 4) return equals<std::uint32_t>(data, pattern);
  return equals<std::uint64_t>(data, pattern);
}

bool Storage::untouched(std::int64_t index) const {
  return is_poison(offset(index));
}

std::int64_t Storage::trespassed() const {
  std::vector<char> ours(bytes_.size() / item_, 0);
  for (std::int64_t i = 0; i < layout_.size(); ++i) ours[offset(i) / item_] = 1;
  std::int64_t count = 0;
  for (std::size_t element = 0; element < ours.size(); ++element)
    count += !ours[element] && !is_poison(element * item_);
  return count;
}

std::vector<double> Storage::numbers() const {
  std::vector<double> values(static_cast<std::size_t>(layout_.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(static_cast<std::int64_t>(i));
  return values;
}

bool Storage::is_same_as(const Storage& other) const {
  if (bytes_ == other.bytes_) return true;  // as nearly always
  for (std::int64_t i = 0; i < layout_.size(); ++i)
    if (!is_same(get(i), other.get(i))) return false;
  return true;
}

}  // namespace flashbook::conformance
