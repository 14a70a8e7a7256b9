#pragma once

#include "walkthrough/bench/bench.hpp"

namespace flashbook::bench {

/// An 8192³ product by cuBLAS, of the task's numbers and in their type, as nothing else loads a GPU
/// so well; nothing if there is no cuBLAS. The device must outlive it.
Gemm cublas_gemm(Device& device, DType dtype);

/// A 1024³ product by Eigen in fp32, on all threads.
Gemm eigen_gemm();

}  // namespace flashbook::bench
