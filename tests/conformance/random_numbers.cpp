#include "tests/conformance/random_numbers.hpp"

namespace flashbook::conformance {
namespace {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix(mix(mix(seed + 0x9E3779B97F4A7C15u) + stream) + index);
}

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t sum = 0;  // of twelve uniforms, 16 bits each
  for (std::uint64_t word = 0; word < 3; ++word)
    for (std::uint64_t four = random_bits(seed, stream, 3 * index + word), n = 0; n < 4;
         ++n, four >>= 16)
      sum += four & 0xFFFF;
  return (static_cast<double>(sum) + 6) * 0x1p-16 - 6;  // + ½ each
}

}  // namespace flashbook::conformance
