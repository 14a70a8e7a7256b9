#pragma once

#include <nlohmann/json.hpp>

#include "tests/conformance/suite.hpp"

namespace flashbook {

/// A report as `verify --json` prints it. A gate or ratio that does not apply is null; numbers JSON
/// has no word for are the strings "nan", "inf" and "-inf".
nlohmann::ordered_json as_json(const conformance::CaseReport& report);
/// One of its outputs.
nlohmann::ordered_json as_json(const conformance::OutputReport& report);

/// What as_json wrote, but for what it does not write.
conformance::CaseReport case_report(const nlohmann::json& written);

}  // namespace flashbook
