#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr float log2_e = 1.44269504f;

FLASHBOOK_DEVICE float max_of_warp(float x) {
  for (int mask = 16; mask > 0; mask /= 2) x = fmaxf(x, shuffle_xor(x, mask));
  return x;
}
FLASHBOOK_DEVICE float sum_of_warp(float x) {
  for (int mask = 16; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  return x;
}

/// A lane's part of a row.
struct Row {
  float m = -INFINITY, l = 0, o = 0;

  FLASHBOOK_DEVICE void follow_maximum(float x) {
    const float m_old = m;
    m = fmaxf(m, max_of_warp(x));
    if (m == -INFINITY) return;  // nothing but hidden scores so far
    const float factor = exp2_approx(log2_e * (m_old - m));
    l *= factor;
    o *= factor;
  }
  FLASHBOOK_DEVICE void add(float x, float v) {
    const float weight = x == -INFINITY ? 0 : exp2_approx(log2_e * (x - m));
    l += weight;
    o += weight * v;
  }
};

/// Of the row's n numbers from `begin` on, by all lanes. `exact`: with a running maximum.
FLASHBOOK_DEVICE Row row_of(gmem<const float> x, gmem<const float> v, int begin, int n,
                            bool exact) {
  Row row;
  for (int i = begin + static_cast<int>(threadIdx.x); i < begin + n; i += 32) {
    const float score = x(i);
    if (exact || row.m == -INFINITY) row.follow_maximum(score);
    row.add(score, v(i));
  }
  return row;
}

/// y[row] = sum e^x v / sum e^x over the n numbers of a row, n a multiple of 32.
FLASHBOOK_KERNEL(32) average(gmem<const float> x, gmem<const float> v, gmem<float> y, int n) {
  const int lane = threadIdx.x, begin = blockIdx.x * n;
  Row row = row_of(x, v, begin, n, false);
  float l = sum_of_warp(row.l), o = sum_of_warp(row.o);
  if (any(!(0 * l + 0 * o == 0))) {  // infinity and NaN alone are not 0 times themselves
    row = row_of(x, v, begin, n, true);
    l = sum_of_warp(row.l);
    o = sum_of_warp(row.o);
  }
  if (lane == 0) y(blockIdx.x) = o / l;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
