// What time it is on a multiprocessor, and a store that costs a kernel little.
#pragma once

#include <cstdint>

#include "cuda/isa/memory.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

/// Cycles of the multiprocessor that this thread runs on, modulo 2^32.
/// PTX ISA, "Special Registers: %clock".
FLASHBOOK_DEVICE uint32_t clock_cycles() {
  uint32_t cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}
/// Stores x if `mine`, as one predicated instruction: a branch would split the warp.
/// PTX ISA, "Data Movement and Conversion Instructions: st".
FLASHBOOK_DEVICE void store_if(gmem<uint2> to, uint2 x, bool mine) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p st.global.v2.b32 [%0], {%1, %2};\n}" ::"l"(
          __cvta_generic_to_global(to.data())),
      "r"(x.x), "r"(x.y), "r"(static_cast<int>(mine))
      : "memory");
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::emulated {

/// How often the emulator has gone on from one thread to another: an order, and no time.
inline uint32_t clock_cycles() {
  return static_cast<uint32_t>(simt::sm->findings.switches);
}
inline void store_if(const gmem<uint2>& to, uint2 x, bool mine, Site site = Site::here()) {
  if (mine) store_vector(to, x, site);
}

}  // namespace flashbook::emulated

#endif
