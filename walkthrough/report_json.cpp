#include "walkthrough/report_json.hpp"

#include <cmath>

namespace flashbook {
namespace {

using namespace conformance;
using json = nlohmann::ordered_json;

json number(std::optional<double> x) {
  if (!x) return nullptr;
  if (std::isnan(*x)) return "nan";
  if (std::isinf(*x)) return *x > 0 ? "inf" : "-inf";
  return *x;
}

std::optional<double> number_in(const nlohmann::json& written) {
  if (written.is_null()) return std::nullopt;
  if (written.is_number()) return written.get<double>();
  if (written == "nan") return std::nan("");
  return written == "inf" ? HUGE_VAL : -HUGE_VAL;
}

/// The value of an enumeration of `count` values that has this name.
template <class Enum>
Enum called(const nlohmann::json& written, std::size_t count) {
  std::size_t i = 0;
  while (i + 1 < count && name(static_cast<Enum>(i)) != written.get<std::string>()) ++i;
  return static_cast<Enum>(i);
}

OutputReport output_report(const nlohmann::json& written) {
  const nlohmann::json& worst = written.at("worst");
  OutputReport report = {called<Output>(written.at("output"), all_outputs.size()), {}, {}};
  report.margins.gate1 = *number_in(written.at("gate1"));
  report.margins.gate2 = number_in(written.at("gate2"));
  report.margins.gate3 = number_in(written.at("gate3"));
  report.margins.worst = {worst.at("index"), *number_in(worst.at("got")),
                          *number_in(worst.at("expected")), *number_in(worst.at("tolerance"))};
  report.ratio_to_standard = number_in(written.at("ratio_to_standard"));
  return report;
}

}  // namespace

json as_json(const OutputReport& output) {
  const Margins& m = output.margins;
  json object = {{"output", name(output.output)}, {"gate1", number(m.gate1)}};
  object["gate2"] = number(m.gate2);
  object["gate3"] = number(m.gate3);
  object["passed"] = m.pass();
  object["worst"] = {{"index", m.worst.at},
                     {"got", number(m.worst.got)},
                     {"expected", number(m.worst.expected)},
                     {"tolerance", number(m.worst.tolerance)}};
  object["ratio_to_standard"] = number(output.ratio_to_standard);
  return object;
}

json as_json(const CaseReport& report) {
  json outputs = json::array();
  for (const OutputReport& output : report.outputs) outputs.push_back(as_json(output));
  return {{"implementation", report.implementation},
          {"case", report.case_name},
          {"dtype", name(report.dtype)},
          {"status", name(report.status)},
          {"reasons", report.reasons},
          {"outputs", outputs},
          {"command", report.command}};
}

CaseReport case_report(const nlohmann::json& written) {
  CaseReport report;
  report.implementation = written.at("implementation");
  report.case_name = written.at("case");
  report.dtype = *dtype_called(written.at("dtype").get<std::string>());
  report.status = called<Status>(written.at("status"), 4);
  report.reasons = written.at("reasons").get<std::vector<std::string>>();
  for (const nlohmann::json& output : written.at("outputs"))
    report.outputs.push_back(output_report(output));
  report.command = written.at("command");
  return report;
}

}  // namespace flashbook
