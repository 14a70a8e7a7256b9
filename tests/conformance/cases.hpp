#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/problem_spec.hpp"

/// The named cases of the suite.
namespace flashbook::conformance {

struct Case {
  std::string name;  ///< "kind/what/dtype", such as "pair/causal+sinks/bf16"
  ProblemSpec spec;
};

/// Every case but the large. General kinds: size, data, option, pair, degenerate, nan, fuzz and
/// sanitize (few and small, for slow tools). Kinds of fault, which docs/faults.md lists: empty,
/// align, window, members, heads, tail, dims, strides, logits, scale, softcap, sinks, split, zero,
/// bias, alibi; and large, found by name alone.
const std::vector<Case>& all_cases();

/// Those whose name matches a shell pattern, such as "pair/*sinks*/bf16" or "large/*"; may be none.
std::vector<Case> matching_cases(std::string_view glob);

}  // namespace flashbook::conformance
