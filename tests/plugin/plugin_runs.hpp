// What tests of `verify --plugin` share: running it, and reading its reports.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/unit/command_line.hpp"

namespace flashbook::test {

using nlohmann::json;

/// `verify --plugin` on a library, with a mistake of faulty.cpp.
inline Run verify(const std::string& library, const std::string& fault,
                  const std::string& arguments) {
  return Scratch().shell("FAULT='" + fault + "' '" FLASHBOOK_PROGRAM "' verify --plugin '" +
                         library + "' " + arguments);
}

/// Case → its report.
inline std::map<std::string, json> faulty(const std::string& fault, const std::string& cases,
                                          const std::string& more = {}) {
  const Run run = verify(FLASHBOOK_FAULTY, fault, "--json --case '" + cases + "' " + more);
  CAPTURE(run.err);
  REQUIRE(run.status < 2);
  std::map<std::string, json> by_name;
  for (json& each : json::parse(run.out)) by_name[each["case"]] = each;
  return by_name;
}

using Outputs = std::set<std::string>;

inline Outputs failing(const json& report) {
  Outputs outputs;
  for (const json& output : report["outputs"])
    if (!output["passed"]) outputs.insert(output["output"].get<std::string>());
  return outputs;
}

inline std::string reasons(const json& report) {
  std::string text;
  for (const json& reason : report["reasons"]) text += reason.get<std::string>() + "\n";
  return text;
}

inline bool says(const json& report, const std::string& part) {
  return reasons(report).find(part) != std::string::npos;
}

}  // namespace flashbook::test
