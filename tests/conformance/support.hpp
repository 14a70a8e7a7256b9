#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cpu_reference/attention_problem.hpp"

/// What each of our implementations is known to refuse. A refusal that is not in the table fails
/// the suite, and so does an entry that is not refused.
namespace flashbook::conformance {

enum class Pass { forward, backward };
std::string_view name(Pass pass);

/// The options a problem uses, as the table names them: its dtype, "causal", "top-left", "window",
/// "softcap", "bias", "alibi", "sinks", "dlse", "grouped", "d!=dv", "packed", "scale<=0",
/// "strided".
std::vector<std::string_view> options_of(const AttentionProblem& problem);

/// Whether the table says that the implementation refuses the problem; empty if it has no row there
/// (a reader's own kernel, which may refuse what it likes).
std::optional<bool> should_refuse(std::string_view implementation, const AttentionProblem& problem,
                                  Pass pass);

}  // namespace flashbook::conformance
