#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook {

/// Runs an algorithm on random tensors of a problem, and reports what it moved: counts depend on
/// shapes and masks only. Throws InputError as io::run does.
io::Report run_on_random(const io::Algorithm& algorithm, const AttentionProblem& problem,
                         const io::RunOptions& options = {});

}  // namespace flashbook
