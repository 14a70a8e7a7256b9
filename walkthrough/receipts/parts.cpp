#include "walkthrough/receipts/parts.hpp"

#include <algorithm>

#include "walkthrough/margins.hpp"

namespace flashbook::receipts {
namespace {

using namespace conformance;

bool is_backward(const std::string& kernel) {
  return kernel.rfind("backward/", 0) == 0;
}

/// The implementations that run a kernel: "cuda.fa1@gpu".
std::vector<std::string> implementations_with(const std::string& kernel,
                                              std::span<const KernelPair> pairs) {
  std::vector<std::string> names;
  for (const KernelPair& pair : pairs)
    if ((pair.forward && kernel == std::string("forward/") + pair.forward->name) ||
        (pair.backward && kernel == std::string("backward/") + pair.backward->name))
      names.push_back(std::string("cuda.") + pair.name + "@gpu");
  return names;
}

Json number(const Largest& gate) {
  return gate.most ? Json(*gate.most) : Json();
}

/// {"fp16": {"O": [gate 1, gate 2, gate 3], …}, …}
Json margins_of(const std::string& kernel, const std::vector<CaseReport>& reports) {
  PerOutput<std::map<std::string, std::array<Largest, 3>>> largest;
  for (const CaseReport& report : reports)
    for (const OutputReport& output : report.outputs) {
      auto& gates = largest[output.output][std::string(name(report.dtype))];
      gates[0].add(output.margins.gate1);
      gates[1].add(output.margins.gate2);
      gates[2].add(output.margins.gate3);
    }
  Json margins = Json::object();
  for (const Output output : all_outputs) {
    if (is_gradient(output) != is_backward(kernel)) continue;
    for (const auto& [dtype, gates] : largest[output])
      margins[dtype][std::string(name(output))] = {number(gates[0]), number(gates[1]),
                                                   number(gates[2])};
  }
  return margins;
}

}  // namespace

std::optional<Json> verify_part(const std::string& kernel, std::span<const KernelPair> pairs,
                                const std::vector<CaseReport>& all) {
  const std::vector<std::string> names = implementations_with(kernel, pairs);
  std::vector<CaseReport> reports;
  for (const CaseReport& report : all)
    if (std::find(names.begin(), names.end(), report.implementation) != names.end())
      reports.push_back(report);
  std::map<Status, int> counts;
  for (const CaseReport& report : reports) ++counts[report.status];
  if (counts[Status::passed] == 0 || counts[Status::failed] > 0) return std::nullopt;
  return Json{{"cases",
               {{"passed", counts[Status::passed]},
                {"skipped", counts[Status::skipped]},
                {"refused", counts[Status::refused]}}},
              {"margins", margins_of(kernel, reports)}};
}

std::optional<Json> bench_part(const std::string& kernel, const std::vector<bench::Row>& rows) {
  const Pass pass = is_backward(kernel) ? Pass::backward : Pass::forward;
  const std::string impl = "cuda." + kernel.substr(kernel.find('/') + 1) + "@gpu";
  Json list = Json::array();
  for (const bench::Row& row : rows) {
    if (row.impl != impl || row.pass != pass) continue;
    if (row.failed) return std::nullopt;
    if (!row.seconds) continue;
    Json of_gemm = row.of_gemm() ? Json(*row.of_gemm()) : Json();
    list.push_back({{"dtype", name(row.dtype)},
                    {"head_dim", row.shape.d},
                    {"causal", row.shape.causal},
                    {"batch", row.shape.batch},
                    {"heads", row.shape.heads},
                    {"seqlen", row.shape.n},
                    {"ms", *row.seconds * 1e3},
                    {"tflops", row.flops_rate() / 1e12},
                    {"of_gemm", of_gemm},
                    {"spread", *row.spread},
                    {"error_margin", *row.margin}});
    if (row.shape.packed) list.back()["packed"] = true;
  }
  if (list.empty()) return std::nullopt;
  return Json{{"rows", list}};
}

}  // namespace flashbook::receipts
