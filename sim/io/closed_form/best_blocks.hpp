#pragma once

#include "sim/io/algorithms.hpp"

/// How best_blocks leaves out shapes without counting what they move.
namespace flashbook::io {

/// Visible pairs of one query head, over all members.
double all_visible_pairs(const AttentionProblem& problem);

/// Bytes that what streams cannot be moved in less with these blocks: a tile covers B_r · B_c pairs
/// at most, so C ≥ pairs / B_r and R ≥ pairs / B_c; a row's first and last visit may spare its
/// sums.
double least_bytes(const Algorithm& algorithm, const AttentionProblem& problem, double pairs,
                   const Blocks& blocks);

}  // namespace flashbook::io
