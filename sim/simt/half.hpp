#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __F16C__
#include <immintrin.h>
#endif

/// The 16-bit floating-point types of emulated kernels: storage with conversions, no arithmetic.
/// Conversions from float round to nearest, ties to even, as cvt.rn does; every NaN becomes the
/// canonical one, 0x7fff. Conversions to float are exact.
namespace flashbook::emulated {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct half {
  std::uint16_t bits;
};

/// The upper half of an IEEE 754 binary32: 8 bits of exponent, 7 of fraction.
struct bfloat16 {
  std::uint16_t bits;
};

inline float to_float(bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

inline float to_float(half x) {
#ifdef __F16C__
  return _cvtsh_ss(x.bits);
#else
  // Exponent and fraction in float's places, short of float's bias by 112: 2^112 makes up for it,
  // exactly, for subnormal numbers too. Infinity and NaN have an exponent of ones in both.
  const std::uint32_t magnitude = (x.bits & 0x7fffu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x7c00u << 13 ? 0x7f800000u : 0u;
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
#endif
}

namespace detail {

inline std::uint16_t round_to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline std::uint16_t round_to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7f800000u) return 0x7fff;
  std::uint32_t rounded = 0;
  if (magnitude >= 0x477ff000u)  // 65520, the middle between the largest half and 2^16
    rounded = 0x7c00;
  else if (magnitude < 0x38800000u)  // below 2^-14: the sum with 0.5 has half's subnormal spacing
    rounded = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  else
    rounded = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  return static_cast<std::uint16_t>(rounded | sign);
}

}  // namespace detail

/// `x` rounded to T: half, bfloat16, or float itself.
template <class T>
T from_float(float x) {
  if constexpr (std::is_same_v<T, half>)
    return {detail::round_to_half(x)};
  else if constexpr (std::is_same_v<T, bfloat16>)
    return {detail::round_to_bfloat16(x)};
  else
    return x;
}

inline float to_float(float x) {
  return x;
}

}  // namespace flashbook::emulated
