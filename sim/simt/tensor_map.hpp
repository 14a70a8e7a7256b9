#pragma once

#include <cstdint>

#include "sim/simt/pointer.hpp"

namespace flashbook::simt {

/// A tensor in global memory and the shape of its boxes that are copied: what a CUtensorMap says.
/// Dimension 0 is innermost, and contiguous. CUDA driver API, "Tensor Map Object Management".
struct TensorMap {
  static constexpr unsigned most_dimensions = 4;

  Pointer<std::byte> data;  ///< the element at the origin
  bool writable = false;
  unsigned element_bytes = 0;
  unsigned rank = 0;
  std::int64_t extent[most_dimensions] = {};  ///< elements
  std::int64_t stride[most_dimensions] = {};  ///< bytes
  int box[most_dimensions] = {};              ///< elements
  unsigned swizzle = 0;  ///< bytes whose 16-byte chunks are exchanged: 32, 64, 128; 0 for none

  unsigned row_bytes() const { return static_cast<unsigned>(box[0]) * element_bytes; }
  unsigned rows() const;
  unsigned box_bytes() const { return rows() * row_bytes(); }
  /// How a box's place in shared memory is aligned: the swizzle's pattern begins there.
  unsigned alignment() const { return swizzle ? swizzle * 8 : 128; }
};

/// A row of a box: where it comes in shared memory, and the part of it that lies in the tensor.
struct BoxRow {
  unsigned number;
  std::byte* part;          ///< in global memory
  unsigned skipped, bytes;  ///< before the part, and in it; of 0 bytes the row is outside
};

/// Calls f(BoxRow) for the rows of the box that begins at `at`, innermost coordinate first.
template <class F>
void for_each_row(const TensorMap& map, const int* at, F&& f);

/// Where the byte `offset` of a box lies in shared memory, from where the box does. The pattern
/// repeats every 8 rows of the swizzle's size. PTX ISA, "Tensors: Swizzling Modes".
constexpr std::size_t swizzled(std::size_t offset, unsigned swizzle) {
  const std::size_t columns = swizzle / 16;  // of chunks
  return columns == 0 ? offset : offset ^ (offset / 128 % columns) * 16;
}

// ----

inline unsigned TensorMap::rows() const {
  unsigned n = 1;
  for (unsigned d = 1; d < rank; ++d) n *= static_cast<unsigned>(box[d]);
  return n;
}

template <class F>
void for_each_row(const TensorMap& map, const int* at, F&& f) {
  const auto width = static_cast<std::int64_t>(map.box[0]);
  const std::int64_t begin = at[0] < 0 ? -std::int64_t{at[0]} : 0;
  const std::int64_t end = map.extent[0] - at[0] < width ? map.extent[0] - at[0] : width;
  for (unsigned number = 0; number < map.rows(); ++number) {
    std::int64_t offset = 0;
    bool inside = begin < end;
    unsigned rest = number;
    for (unsigned d = 1; d < map.rank; ++d) {
      const auto side = static_cast<unsigned>(map.box[d]);
      const std::int64_t i = at[d] + std::int64_t{rest % side};
      inside = inside && i >= 0 && i < map.extent[d];
      offset += i * map.stride[d];
      rest /= side;
    }
    if (!inside) {
      f(BoxRow{number, nullptr, 0, 0});
      continue;
    }
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<unsigned>(elements) * map.element_bytes;
    };
    f(BoxRow{number, map.data.at + offset + (at[0] + begin) * map.element_bytes, bytes(begin),
             bytes(end - begin)});
  }
}

}  // namespace flashbook::simt
