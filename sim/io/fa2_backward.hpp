#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// FlashAttention-2's backward pass as printed (arXiv 2307.08691, Algorithm 2): a Δ kernel, dQ
/// cleared, then key tiles outside and row tiles inside, one worker a key/value head. Every visit
/// loads Q, O (which it has no use for), dO, dQ, LSE and D, and writes dQ. dBias is a kernel of its
/// own.
/// Reads 4Nd + 4dR elements a head and writes 3Nd + dR, clearing dQ included; of vectors 2R and N.
/// R = rows of all visited tiles.
void fa2_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                  const RunOptions& options);

}  // namespace flashbook::io
