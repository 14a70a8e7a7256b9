#pragma once

#include <cmath>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace detail {

inline void count_exp2(Site site) {
  if (sm->options().count)
    this_thread->warp->log.execute(id_of(site), Access::exp2, this_thread->lane);
}

}  // namespace detail

/// 2^x as the special function unit computes it, but for its rounding (it errs by at most 2^-22.5
/// of the result): subnormal inputs and results are zero. PTX ISA, "Floating Point Instructions:
/// ex2", ex2.approx.ftz.f32.
inline float exp2_approx(float x, Site site) {
  detail::count_exp2(site);
  constexpr float smallest_normal = 0x1p-126f;
  const float y = std::exp2(x);
  return y < smallest_normal ? 0.f : y;
}

/// e^x, counted as the exp2 that a GPU makes of it.
inline float exponential(float x, Site site) {
  detail::count_exp2(site);
  return std::exp(x);
}

}  // namespace flashbook::simt
