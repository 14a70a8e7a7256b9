#include <doctest/doctest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>

#include "cuda/isa/isa.cuh"
#include "sim/simt/half.hpp"

// The emulator's 16-bit types against Eigen's, which the rest of the project uses.

using namespace flashbook::emulated;

namespace {

template <class T>
using Eigens = std::conditional_t<std::is_same_v<T, half>, Eigen::half, Eigen::bfloat16>;

/// Whether both are NaN, or the same bits.
bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <class T>
Eigens<T> eigens(std::uint16_t bits) {
  return Eigen::numext::bit_cast<Eigens<T>>(bits);
}

/// Whether `x` is rounded as Eigen rounds it.
template <class T>
bool rounds_alike(float x) {
  return same(to_float(from_float<T>(x)), static_cast<float>(static_cast<Eigens<T>>(x)));
}

}  // namespace

TEST_CASE_TEMPLATE("to float: all 2^16 patterns", T, half, bfloat16) {
  int different = 0;
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    different += !same(to_float(T{pattern}), static_cast<float>(eigens<T>(pattern)));
  }
  CHECK(different == 0);
}

TEST_CASE_TEMPLATE("from float: every number, every tie, and both its neighbours", T, half,
                   bfloat16) {
  int different = 0;
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const float x = to_float(T{static_cast<std::uint16_t>(bits)});
    const float next = to_float(T{static_cast<std::uint16_t>(bits + 1)});
    // The middle of neighbours is exact in float; beyond the largest it is where infinity begins.
    const float tie =
        std::isinf(next)
            ? x * (1 + 0.5f * std::abs(x - to_float(T{static_cast<std::uint16_t>(bits - 1)})) /
                           std::abs(x))
            : x + (next - x) / 2;
    for (const float y : {x, tie, std::nextafter(tie, 0.f), std::nextafter(tie, HUGE_VALF)})
      different += !rounds_alike<T>(y);
  }
  CHECK(different == 0);
}

TEST_CASE_TEMPLATE("from float: patterns over all of float's range", T, half, bfloat16) {
  int different = 0;
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 4093)
    different += !rounds_alike<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  CHECK(different == 0);
}

TEST_CASE("NaN becomes the canonical one, as cvt.rn makes it") {
  CHECK(from_float<half>(std::nanf("")).bits == 0x7fff);
  CHECK(from_float<bfloat16>(-std::nanf("")).bits == 0x7fff);
}

TEST_CASE_TEMPLATE("packed: low half first", T, half, bfloat16) {
  const std::uint32_t packed = pack<T>(1.5f, -2);
  CHECK(unpack_low<T>(packed) == 1.5f);
  CHECK(unpack_high<T>(packed) == -2);
  CHECK((packed & 0xffff) == from_float<T>(1.5f).bits);
}
