// Which machine this translation unit is for. The macros a kernel needs are these and no others.
#pragma once

#ifdef __CUDACC__

#define FLASHBOOK_MACHINE gpu
/// A function that kernels call.
#define FLASHBOOK_DEVICE __device__ __forceinline__
/// A function that kernels and their launchers call.
#define FLASHBOOK_HOST_DEVICE __host__ __device__ __forceinline__
/// A kernel of blocks of `threads` threads: `FLASHBOOK_KERNEL(128) forward(Parameters p) {...}`
/// With a second number, so many blocks must fit a multiprocessor: registers are shared out so.
#define FLASHBOOK_KERNEL(...) __global__ void __launch_bounds__(__VA_ARGS__)
/// Of a kernel's parameter that holds tensor maps: `const FLASHBOOK_GRID_CONSTANT Parameters p`
#define FLASHBOOK_GRID_CONSTANT __grid_constant__

#else

#define FLASHBOOK_MACHINE emulated
#define FLASHBOOK_DEVICE inline
#define FLASHBOOK_HOST_DEVICE inline
#define FLASHBOOK_KERNEL(...) inline void
#define FLASHBOOK_GRID_CONSTANT

#include "sim/simt/site.hpp"

namespace flashbook::emulated {
using simt::Site;  // where in its source a kernel executes an instruction
}

#endif
