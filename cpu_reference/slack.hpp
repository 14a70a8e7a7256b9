#pragma once

#include "cpu_reference/implementation.hpp"

namespace flashbook {

/// Slack tokens of a packed problem follow its last member and belong to none. They are empty
/// rows: O and gradients 0, LSE −∞. Does nothing for a dense problem.
void fill_slack(const AttentionProblem& problem, const Outputs& outputs);
void fill_slack(const AttentionProblem& problem, const Gradients& gradients);

}  // namespace flashbook
