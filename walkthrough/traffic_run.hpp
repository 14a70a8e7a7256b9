#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook {

/// Runs an algorithm on random tensors of a problem, and reports what it moved: counts depend on
/// shapes and masks only. Throws InputError as io::run does.
io::Report run_on_random(const io::Algorithm& algorithm, const AttentionProblem& problem,
                         const io::RunOptions& options = {});

/// One head of a problem without bias, and nothing else.
AttentionProblem one_head_of(const AttentionProblem& problem);

/// Runs one head and counts it for all: they are alike in a dense problem without bias that has a
/// key/value head to each query head.
io::Report run_one_head(const io::Algorithm& algorithm, const AttentionProblem& problem,
                        const io::RunOptions& options = {});

}  // namespace flashbook
