#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// FlashAttention's backward pass as published (arXiv 2205.14135, Algorithm 4): key tiles outside,
/// row tiles inside, one worker a key/value head. Every visit loads Q, O, dO, dQ, ℓ and m, computes
/// D = rowsum(dO ∘ O) again and writes dQ. ℓ and m are what a literal forward pass leaves: they are
/// made of the saved LSE before counting starts. dSinks and dBias, which the paper does not have,
/// are kernels of their own.
/// Reads 2Nd + 4dR elements a head and writes dR + 2Nd, and with `includes_init` 3Nd more for
/// clearing dQ, dK and dV; of ℓ and m it reads 2R. R = rows of all visited tiles.
void fa1_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                  const RunOptions& options);

}  // namespace flashbook::io
