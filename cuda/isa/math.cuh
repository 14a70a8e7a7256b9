// Exponentials, which the special function unit computes. For everything else there is <cmath>, in
// device code too.
#pragma once

#include <cmath>

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

/// 2^x, subnormal inputs and results zero, relative error at most 2^-22.5.
/// PTX ISA, "Floating Point Instructions: ex2".
FLASHBOOK_DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// e^x, within 2 units in the last place. One exp2 of the special function unit, and
/// multiplications that make its argument of x. CUDA C++ Programming Guide, "Mathematical
/// Functions": expf.
FLASHBOOK_DEVICE float exponential(float x) {
  return expf(x);
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/special_function.hpp"

namespace flashbook::emulated {

inline float exp2_approx(float x, Site site = Site::here()) {
  return simt::exp2_approx(x, site);
}
inline float exponential(float x, Site site = Site::here()) {
  return simt::exponential(x, site);
}

}  // namespace flashbook::emulated

#endif
