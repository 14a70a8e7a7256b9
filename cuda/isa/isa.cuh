// The vocabulary that kernels are written in. One source, two machines: nvcc compiles it to PTX, a
// C++ compiler to calls of the emulator (sim/simt). docs/emulator.md has an example.
//
// Everything here, and every kernel, lives in `namespace flashbook::FLASHBOOK_MACHINE`, which is
// flashbook::gpu or flashbook::emulated: one program may hold both.
#pragma once

#include "cuda/isa/async_copy.cuh"
#include "cuda/isa/barrier.cuh"
#include "cuda/isa/ids.cuh"
#include "cuda/isa/launch.cuh"
#include "cuda/isa/machine.cuh"
#include "cuda/isa/math.cuh"
#include "cuda/isa/memory.cuh"
#include "cuda/isa/tensor_core.cuh"
#include "cuda/isa/tile.cuh"
#include "cuda/isa/types.cuh"
#include "cuda/isa/warp.cuh"
