#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// FlashAttention-2's forward pass (arXiv 2307.08691, Algorithm 1): one worker owns one row tile
/// of one query head and streams the keys past it.
/// Reads Nd + 2dC elements a head and writes Nd + N: C = columns of all visited tiles.
void fa2_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                 const RunOptions& options);

}  // namespace flashbook::io
