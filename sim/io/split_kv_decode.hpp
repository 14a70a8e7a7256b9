#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// Flash-decoding: with few queries there are too few row tiles to keep all workers busy, so the
/// keys of each are split too. Of the T key tiles that a row tile visits, run s of S takes those
/// from ⌊sT/S⌋ up to ⌊(s + 1)T/S⌋: none, where S > T. A worker a run does FA2's pass over it (arXiv
/// 2307.08691, Algorithm 1) and writes O and LSE in fp32, (0, −∞) for no keys; a second kernel
/// merges the runs of a row tile, and takes in the sink. Any N_q will do.
/// Reads SNd + 2dC + SNd + SN elements a head and writes SNd + SN + Nd + N: C = columns of all
/// visited tiles, S = Schedule::splits.
void split_kv_decode(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                     const RunOptions& options);

}  // namespace flashbook::io
