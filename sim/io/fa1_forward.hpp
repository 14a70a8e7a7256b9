#pragma once

#include "sim/io/algorithms.hpp"

/// FlashAttention's forward pass as first published: keys outside, queries inside. A worker owns
/// one query head; each key tile is read once, and every row tile that sees it returns from HBM,
/// takes it in, and goes back. R = rows of all visited tiles.
namespace flashbook::io {

/// FlashAttention (arXiv 2205.14135), Algorithms 1 and 2, literally: O, ℓ and m are initialised in
/// HBM, and every visit reads and writes all three; O is divided by ℓ at every step.
/// Reads 2Nd + 2dR + 2R elements a head and writes dR + 2R; the initialisation's Nd + 2N are
/// counted where Schedule::includes_init asks for them. O is an fp32 workspace until a row tile's
/// last visit, which writes it to its place in its own type; rows that no key tile visits are
/// written by the initialisation, and counted with it. So is the sink, which is what ℓ and m begin
/// with. Algorithm 2 has no use for the LSE, and does not write it.
void fa1_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                 const RunOptions& options);

/// The same, whose last visits also write the LSE that a backward pass reads: N more elements.
void fa1_forward_lse(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                     const RunOptions& options);

/// The loop order of the first release: a row tile's first visit reads neither O nor a state, and
/// one LSE, the output itself, takes the place of (ℓ, m). Let U be the rows that no key tile
/// visits: reads 2Nd + dR + d(R − (N − U)) + R − (N − U) elements a head and writes dR + R; rows
/// never visited are written once, as empty rows, which is (d + 1)U more.
void fa1_forward_shipped(Machine& machine, const AttentionProblem& problem,
                         const RunTensors& tensors, const RunOptions& options);

}  // namespace flashbook::io
