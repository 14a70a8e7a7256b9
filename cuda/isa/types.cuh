// 16-bit floating point: half (fp16) and bfloat16. Kernels store them and compute in float.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace flashbook::gpu {

using half = __half;
using bfloat16 = __nv_bfloat16;

// PTX ISA, "Data Movement and Conversion Instructions: cvt". Rounding is to nearest, ties to even.

FLASHBOOK_DEVICE float to_float(half x) {
  return __half2float(x);
}
FLASHBOOK_DEVICE float to_float(bfloat16 x) {
  return __bfloat162float(x);
}
FLASHBOOK_DEVICE float to_float(float x) {
  return x;
}

/// `x` rounded to T: half, bfloat16, or float itself.
template <class T>
FLASHBOOK_DEVICE T from_float(float x) {
  return T(x);
}

/// Two numbers rounded to T in one register, `low` in its low half. cvt.rn.f16x2.f32, .bf16x2.f32.
template <class T>
FLASHBOOK_DEVICE uint32_t pack(float low, float high);

template <>
FLASHBOOK_DEVICE uint32_t pack<half>(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <>
FLASHBOOK_DEVICE uint32_t pack<bfloat16>(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

namespace detail {
template <class T>
FLASHBOOK_DEVICE T from_bits(uint16_t bits) {
  return *reinterpret_cast<const T*>(&bits);
}
}  // namespace detail

#else

#include "sim/simt/half.hpp"

namespace flashbook::emulated {

template <class T>
uint32_t pack(float low, float high) {
  return from_float<T>(low).bits | uint32_t{from_float<T>(high).bits} << 16;
}

namespace detail {
template <class T>
T from_bits(uint16_t bits) {
  return {bits};
}
}  // namespace detail

#endif

/// What ldmatrix and mma take: half or bfloat16.
template <class T>
concept Element16 = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// The numbers in the halves of a register.
template <class T>
FLASHBOOK_DEVICE float unpack_low(uint32_t packed) {
  return to_float(detail::from_bits<T>(static_cast<uint16_t>(packed)));
}
template <class T>
FLASHBOOK_DEVICE float unpack_high(uint32_t packed) {
  return to_float(detail::from_bits<T>(static_cast<uint16_t>(packed >> 16)));
}

}  // namespace flashbook::FLASHBOOK_MACHINE
