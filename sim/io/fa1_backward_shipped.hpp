#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// FlashAttention's backward pass in the loop order of its first release: Algorithm 4 of arXiv
/// 2205.14135, with one LSE in place of ℓ and m. A row tile's first visit computes D from O, keeps
/// it in HBM and starts dQ from nothing; later visits read D and dQ. Rows that no visit reaches get
/// zeros in dQ, always counted. dSinks and dBias are kernels of their own.
/// Reads 3Nd + 2dR + d(R − N) elements a head and writes dR + 2Nd; of vectors 2R − N and N. R =
/// rows of all visited tiles; N, but for K, V, dK and dV, the rows that are visited at all.
void fa1_backward_shipped(Machine& machine, const AttentionProblem& problem,
                          const RunTensors& tensors, const RunOptions& options);

}  // namespace flashbook::io
