#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// The backward pass that FlashAttention-2 ships (arXiv 2307.08691, section 3.2): every tile of S
/// is visited once, and dQ is accumulated with atomic additions:
///   Δ        one worker a query head:  D = rowsum(dO ∘ O) − dLSE, and dSinks
///   clear    one worker a row tile:    an fp32 workspace
///   main     one worker a key tile:    dK and dV on chip, dQ added to the workspace
///   convert  one worker a row tile:    dQ, scaled and rounded once
///   dBias    one worker a tile of the bias
/// The order of the additions, and so the last bits of dQ, may change from run to run, unless
/// `options.deterministic`: then one worker a key/value head takes its key tiles in order.
/// Reads 5Nd + 2dR elements a head, writes 4Nd and updates dR; of vectors 2R and N. R = rows of all
/// visited tiles.
void fused_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                    const RunOptions& options);

}  // namespace flashbook::io
