// What both machines' tensor maps are made of. No macro, no CUDA header.
#pragma once

#include <cstdint>
#include <string>

namespace flashbook {

/// Bytes whose 16-byte chunks are exchanged in shared memory; 128 is Swizzle128 of tile.cuh.
enum class BoxSwizzle { none = 0, bytes32 = 32, bytes64 = 64, bytes128 = 128 };

/// A tensor in global memory and the box of it that one copy moves. Dimension 0 is innermost.
struct TensorShape {
  int rank;                ///< 2 to 4
  std::int64_t extent[4];  ///< elements
  std::int64_t stride[4];  ///< elements; that of dimension 0 is 1
  int box[4];              ///< elements
  BoxSwizzle swizzle = BoxSwizzle::bytes128;
};

/// Why no tensor map can be made, or nothing. CUDA driver API, cuTensorMapEncodeTiled.
inline std::string refusal(const TensorShape& s, std::int64_t element_bytes,
                           std::uintptr_t address) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  if (s.rank < 2 || s.rank > 4)
    return "a tensor map of " + number(s.rank) + " dimensions; 2 to 4 are possible";
  if (address % 16 != 0) return "a tensor map of an address that is no multiple of 16";
  if (s.stride[0] != 1)
    return "a tensor map whose innermost stride is " + number(s.stride[0]) + ", not 1";
  for (int d = 0; d < s.rank; ++d) {
    const std::string where = " in dimension " + number(d) + " of a tensor map";
    if (s.extent[d] < 1 || s.extent[d] > std::int64_t{1} << 32)
      return "an extent of " + number(s.extent[d]) + where + "; 1 to 2^32 are possible";
    if (s.box[d] < 1 || s.box[d] > 256)
      return "a box of " + number(s.box[d]) + " elements" + where + "; 1 to 256 are possible";
    const std::int64_t bytes = s.stride[d] * element_bytes;
    if (d > 0 && (bytes < 0 || bytes >= std::int64_t{1} << 40 || bytes % 16 != 0))
      return "a stride of " + number(bytes) + " bytes" + where +
             "; multiples of 16 below 2^40 are possible";
  }
  const std::int64_t row = s.box[0] * element_bytes, swizzle = static_cast<std::int64_t>(s.swizzle);
  if (row % 16 != 0)
    return "a box whose rows are " + number(row) + " bytes; multiples of 16 are possible";
  if (swizzle && row != swizzle)
    return "a box whose rows are " + number(row) + " bytes, under a swizzle of " + number(swizzle) +
           ", which they must be";
  return "";
}

}  // namespace flashbook
