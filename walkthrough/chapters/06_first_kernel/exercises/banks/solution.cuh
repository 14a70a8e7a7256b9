#pragma once

#include <numeric>

/// Lanes i and j meet in a bank if (i - j) * stride is a multiple of 32. With g the greatest common
/// divisor of both, that is every (32 / g)-th lane: g lanes a bank. With stride 0 all read one
/// word.
inline int wavefronts(int stride) {
  return stride == 0 ? 1 : std::gcd(stride, 32);
}

/// The stride between rows must have no divisor in common with 32: it must be odd.
inline int padding(int columns) {
  return columns % 2 == 0 ? 1 : 0;
}
