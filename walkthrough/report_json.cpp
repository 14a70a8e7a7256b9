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
  const nlohmann::json& worst = written["worst"];
  OutputReport report = {called<Output>(written["output"], all_outputs.size()), {}, {}};
  report.margins.gate1 = *number_in(written["gate1"]);
  report.margins.gate2 = number_in(written["gate2"]);
  report.margins.gate3 = number_in(written["gate3"]);
  report.margins.worst = {worst["index"], *number_in(worst["got"]), *number_in(worst["expected"]),
                          *number_in(worst["tolerance"])};
  report.ratio_to_standard = number_in(written["ratio_to_standard"]);
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
  report.implementation = written["implementation"];
  report.case_name = written["case"];
  report.dtype = *dtype_called(written["dtype"].get<std::string>());
  report.status = called<Status>(written["status"], 4);
  report.reasons = written["reasons"].get<std::vector<std::string>>();
  for (const nlohmann::json& output : written["outputs"])
    report.outputs.push_back(output_report(output));
  report.command = written["command"];
  return report;
}

}  // namespace flashbook
