#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cuda/api/emulated_device.hpp"

namespace flashbook {

/// What each line of a kernel executed, beside its source text as far as 80 columns allow, what the
/// columns mean, and all that was found. A '!' marks traffic of 1.25 times the ideal and more.
/// Columns without a number are left out; where none is left for the text, only that of marked
/// lines follows, below.
std::string costs_and_findings(const simt::Report& report);
/// All that was found, or that nothing was.
std::string findings_of(const simt::Report& report);

/// For programs: an object a line that executed anything counted, in the order of the source; and
/// their sums.
nlohmann::ordered_json lines_json(const simt::Report& report);
nlohmann::ordered_json counts_json(const simt::LineCounts& counts);

}  // namespace flashbook
