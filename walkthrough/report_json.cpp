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

}  // namespace flashbook
