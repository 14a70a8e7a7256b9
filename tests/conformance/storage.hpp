#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_reference/element_types.hpp"

/// Memory for one tensor, poisoned: what an implementation must not read or write is NaN.
namespace flashbook::conformance {

/// Sizes and strides in elements, outermost first. A stride of 0 repeats, negative ones run
/// backwards.
struct Layout {
  std::array<std::int64_t, 4> sizes, strides;

  std::int64_t size() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

/// Layout of a contiguous tensor.
Layout contiguous(const std::array<std::int64_t, 4>& sizes);

/// The same number, sign of zero included, or NaN both: which NaN comes out of arithmetic, its sign
/// too, depends on the order of operands, and compilers and vector loops choose that.
bool is_same(double a, double b);

/// A tensor in memory that starts out as NaN everywhere, with 64 NaN elements on either side of it.
/// The NaN has a bit pattern that arithmetic does not produce, so an element that was never written
/// is told from one that was written with NaN.
class Storage {
 public:
  Storage(DType dtype, const Layout& layout);

  DType dtype() const { return dtype_; }
  const Layout& layout() const { return layout_; }
  /// Element (0, 0, 0, 0).
  void* data() { return bytes_.data() + origin_ * item_; }
  const void* data() const { return bytes_.data() + origin_ * item_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  /// Rounds `value` to the dtype and writes it. `index` counts logical elements, last axis fastest.
  void set(std::int64_t index, double value);
  double get(std::int64_t index) const;
  /// All of them, in logical order.
  std::vector<double> numbers() const;
  /// Whether the element still holds the NaN it started with.
  bool untouched(std::int64_t index) const;
  /// Elements outside the tensor (guard bands, gaps between strides) that no longer hold theirs.
  std::int64_t trespassed() const;
  /// Whether each element is the same as the other's, which is laid out alike.
  bool is_same_as(const Storage& other) const;

 private:
  std::size_t offset(std::int64_t index) const;
  bool is_poison(std::size_t byte) const;

  DType dtype_;
  Layout layout_;
  std::size_t item_, origin_;  // bytes an element; element (0, 0, 0, 0)
  std::vector<std::byte> bytes_;
};

}  // namespace flashbook::conformance
