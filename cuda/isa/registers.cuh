// Registers, from one warpgroup to another: sm_90a.
// PTX ISA, "Miscellaneous Instructions: setmaxnreg".
#pragma once

#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

namespace flashbook::gpu {

/// Each thread of the warpgroup keeps `count` registers and gives the others back. A multiple of 8,
/// 24 to 256. The kernel is a FLASHBOOK_KERNEL(threads, 1).
template <int count>
FLASHBOOK_DEVICE void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
/// Each thread gets as many, when others have given them back.
template <int count>
FLASHBOOK_DEVICE void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::emulated {

template <int count>
void decrease_registers(Site site = Site::here()) {
  simt::sm->warpgroups.set_registers(count, false, site);
}
template <int count>
void increase_registers(Site site = Site::here()) {
  simt::sm->warpgroups.set_registers(count, true, site);
}

}  // namespace flashbook::emulated

#endif
