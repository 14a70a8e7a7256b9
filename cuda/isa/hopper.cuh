// The vocabulary of Hopper GPUs, beside isa.cuh: for kernels that are compiled for sm_90a alone.
#pragma once

#include "cuda/isa/bulk_copy.cuh"
#include "cuda/isa/cluster.cuh"
#include "cuda/isa/isa.cuh"
#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/registers.cuh"
#include "cuda/isa/tensor_map.cuh"
#include "cuda/isa/wgmma.cuh"
