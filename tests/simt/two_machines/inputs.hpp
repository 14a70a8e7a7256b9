#pragma once

#include <cstdint>
#include <vector>

namespace flashbook {

/// n numbers of fp16, as bits: the signs and fractions of an LCG's numbers between 1/2 and 2.
inline std::vector<std::uint16_t> fp16_numbers(int n, std::uint32_t seed) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(n));
  for (auto& x : bits) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<std::uint16_t>((seed >> 16 & 0x87ff) | 0x3800);
  }
  return bits;
}

}  // namespace flashbook
