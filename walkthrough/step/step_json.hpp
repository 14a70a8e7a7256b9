#pragma once

#include <nlohmann/json.hpp>

#include "walkthrough/step/step_run.hpp"

namespace flashbook::step {

/// Steps first … last − 1 (from 0) as `step --json` prints them: every value in full; numbers JSON
/// has no word for are the strings "nan", "inf" and "-inf".
nlohmann::ordered_json as_json(const StepRun& run, Index first, Index last);

}  // namespace flashbook::step
