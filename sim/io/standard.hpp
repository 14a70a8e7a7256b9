#pragma once

#include "sim/io/algorithms.hpp"

/// Standard attention, S and P in HBM in the problem's dtype: FA1's Algorithms 0 and 3. Each
/// operand of a product streams through SRAM once, which asks for one of them whole in SRAM.
/// All N_q x N_k pairs are computed and moved, whatever the mask hides.
namespace flashbook::io {

/// Query rows that are streamed at a time. Only a bias that is broadcast along the queries, and
/// read again for each such strip, makes traffic depend on it.
inline constexpr Index standard_rows = 64;

/// S = QKᵀ; P = softmax(S); O = PV. Reads 3Nd + 2N² elements a head and writes Nd + 2N².
/// Algorithm 0 has no use for the LSE, and does not write it.
void standard_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                      const RunOptions& options);

/// The same, and the LSE: N more elements written.
void standard_forward_lse(Machine& machine, const AttentionProblem& problem,
                          const RunTensors& tensors, const RunOptions& options);

/// dV = PᵀdO; dP = dO Vᵀ; dS = P ∘ (dP − D); dQ = dS K; dK = dSᵀQ. Reads 5Nd + 5N² elements a head
/// and writes 3Nd + 2N². P (and the soft-cap's slope H) is given by a forward pass whose traffic is
/// not counted.
void standard_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                       const RunOptions& options);

}  // namespace flashbook::io
