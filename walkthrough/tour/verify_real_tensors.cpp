#include <array>
#include <iostream>

#include "cpu_reference/error.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/tour/tour.hpp"

namespace flashbook::tour {
namespace {

using conformance::CaseReport;
using conformance::Output;

constexpr std::array outputs = {Output::O, Output::LSE, Output::dQ, Output::dK, Output::dV};

RealLayer load_layer(const std::filesystem::path& folder, const std::string& layer,
                     const std::string& dtype) {
  const auto file = [&](const char* which) {
    return (folder / ("minilm_" + layer + "_" + which + ".npy")).string();
  };
  AttendRequest request;
  request.q = file("q");
  request.k = file("k");
  request.v = file("v");
  request.dtype = dtype;
  try {
    return {layer + " " + dtype, load_tensors(request)};
  } catch (const InputError& error) {
    throw InputError("--data '" + folder.string() +
                     "' does not hold the tour's tensors: " + error.what());
  }
}

std::vector<std::string> row_of(const CaseReport& report) {
  std::vector<std::string> row = {report.implementation};
  for (const Output output : outputs) {
    std::string cell = "–";
    for (const conformance::OutputReport& each : report.outputs)
      if (each.output == output) cell = fixed(each.margins.largest(), 2);
    row.push_back(cell);
  }
  row.emplace_back(conformance::name(report.status));
  return row;
}

/// Returns whether every implementation passed.
bool verify(const RealLayer& layer, const Progress& progress) {
  std::vector<std::vector<std::string>> rows = {{layer.name, "O", "LSE", "dQ", "dK", "dV", ""}};
  std::string reasons;
  conformance::Exercise exercise(layer.name, layer.tensors.problem, layer.tensors.inputs(), 1);
  bool passed = true;
  for (const auto& implementation : implementations()) {
    progress.show(layer.name + ", " + implementation->name());
    const CaseReport report = exercise.verify(*implementation);
    rows.push_back(row_of(report));
    if (report.status == conformance::Status::passed) continue;
    for (const std::string& reason : report.reasons)
      reasons += "  " + report.implementation + ": " + reason + "\n";
    passed = passed && report.status != conformance::Status::failed;
  }
  progress.clear();
  std::cout << table(rows) << reasons << "\n";
  return passed;
}

}  // namespace

std::vector<RealLayer> load_layers(const std::filesystem::path& folder) {
  std::vector<RealLayer> layers;
  for (const char* dtype : {"fp16", "bf16", "fp32"})
    for (const char* layer : {"layer0", "layer5"})
      layers.push_back(load_layer(folder, layer, dtype));
  return layers;
}

bool verify_real_tensors(const std::vector<RealLayer>& layers) {
  print_heading("3. Every implementation on the tensors of a real transformer");
  std::cout << R"(Q, K, V of MiniLM (12 heads, d = 32) reading the first page of Moby-Dick; the
gradient dO is random. The oracle computes in double precision; what differs
from it is error. Rounding alone permits some. Three gates say how much: 1. each
element within a bound, 2. the rms within 1.5 × that of ideal rounding, 3. no
steady drift. Shown: the largest fraction used of a gate. Above 1 fails.
The oracle's own row is not 0: its results are rounded to the type as well.
io.fa2 and its like are the blocked algorithms; io.fa2[16x48] has tiles of
16 × 48; io.split_kv splits the keys for decoding, and has no backward pass.

)";
  const Progress progress("verifying");
  bool passed = true;
  for (const RealLayer& layer : layers) passed = verify(layer, progress) && passed;
  std::cout << (passed ? "All of them agree with the oracle.\n"
                       : "NOT all of them agree with the oracle.\n");
  return passed;
}

}  // namespace flashbook::tour
