#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// The backward pass in kernels that share nothing but HBM, so that no two workers ever write the
/// same element and every gradient repeats bit for bit:
///   Δ      one worker a query head:          D = rowsum(dO ∘ O) − dLSE, and dSinks
///   dK/dV  one worker a key tile:            streams the queries of its group of heads
///   dQ     one worker a row tile:            streams the keys
///   dBias  one worker a tile of the bias:    visits every tile of S that it was broadcast to
/// The second and third recompute S and P: 14N²d FLOPs a head where one fused kernel needs 10N²d.
/// Reads 6Nd + 2dR + 2dC elements a head and writes 3Nd (without a bias); R and C are the rows and
/// columns of all visited tiles.
void three_kernel_backward(Machine& machine, const AttentionProblem& problem,
                           const RunTensors& tensors, const RunOptions& options);

}  // namespace flashbook::io
