#pragma once

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cpu_reference/problem.h"

namespace flashbook {

/// Element type of a problem's tensors.
enum class DType : std::int32_t {
  fp16 = FLASHBOOK_FP16,
  bf16 = FLASHBOOK_BF16,
  fp32 = FLASHBOOK_FP32,
  fp64 = FLASHBOOK_FP64
};

using half = Eigen::half;
using bfloat16 = Eigen::bfloat16;

/// Type an algorithm computes in when its tensors hold T; also the type of the LSE and its
/// gradient.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
inline constexpr bool is_16_bit = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// Calls f(T{}) with the C++ type that `dtype` names and returns its result.
template <class F>
decltype(auto) with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::fp16:
      return std::forward<F>(f)(half{});
    case DType::bf16:
      return std::forward<F>(f)(bfloat16{});
    case DType::fp32:
      return std::forward<F>(f)(float{});
    case DType::fp64:
      break;
  }
  return std::forward<F>(f)(double{});
}

/// "fp16", "bf16", "fp32", "fp64".
std::string_view name(DType dtype);
/// The type of that name, if there is one.
std::optional<DType> dtype_called(std::string_view name);

/// Bytes an element occupies in memory.
constexpr std::int64_t bytes_of(DType dtype) {
  return dtype == DType::fp64 ? 8 : dtype == DType::fp32 ? 4 : 2;
}

/// Bytes of an LSE element.
constexpr std::int64_t lse_bytes_of(DType dtype) {
  return dtype == DType::fp64 ? 8 : 4;
}

/// `x` rounded once to the nearest T, ties to even.
template <class T, class Real>
T round_to(Real x) {
  if constexpr (is_16_bit<T> && std::is_same_v<Real, double>) {
    // Rounding to float first must not create a tie: keep a sticky bit ("round to odd").
    float nearest = static_cast<float>(x);
    const bool inexact = static_cast<double>(nearest) != x;
    if (inexact && (std::bit_cast<std::uint32_t>(nearest) & 1u) == 0u)
      nearest = std::nextafter(nearest, x > static_cast<double>(nearest) ? HUGE_VALF : -HUGE_VALF);
    return static_cast<T>(nearest);
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace flashbook
