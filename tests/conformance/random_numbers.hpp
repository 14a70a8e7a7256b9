#pragma once

#include <cstdint>

/// Numbers that a seed draws, by name and not in turn: the same on every machine, and by any thread
/// in any order. Integers and exact sums only.
namespace flashbook::conformance {

/// Number `index` of stream `stream` of a seed: 64 random bits, a number uniform in [0, 1), or one
/// close to N(0,1) (a sum of twelve uniforms, within ±6).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace flashbook::conformance
