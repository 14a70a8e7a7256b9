// The suite through the C interface gives the verdicts that it gives through C++.
#include <doctest/doctest.h>

#include "cuda/api/exported.hpp"
#include "cuda/api/host_device.hpp"
#include "cuda/api/implementations.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/smoke_cases.hpp"
#include "walkthrough/implementations.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;

/// A few of every kind of case, all dtypes and options among them; under a sanitizer fewer.
std::vector<Case> some_cases() {
  std::vector<std::string> globs = {"option/*/bf16"};
  if (test::all_are_affordable)
    globs = {"option/*",       "empty/*bf16",       "members/*[aeo]/fp32", "nan/*/fp16",
             "strides/*/bf16", "degenerate/*/fp64", "sinks/*/fp16"};
  std::vector<Case> cases;
  for (const std::string& glob : globs)
    for (const Case& each : matching_cases(glob)) cases.push_back(each);
  return cases;
}

/// The same number, or NaN both.
bool is_same(double a, double b) {
  return a == b || (a != a && b != b);
}

bool is_same(const OutputReport& a, const OutputReport& b) {
  return a.output == b.output && is_same(a.margins.gate1, b.margins.gate1) &&
         is_same(a.margins.largest_error, b.margins.largest_error) &&
         a.margins.worst.at == b.margins.worst.at;
}

void check_same(const CaseReport& direct, const CaseReport& through_c) {
  CAPTURE(direct.implementation);
  CAPTURE(direct.case_name);
  CHECK(direct.status == through_c.status);
  CHECK(direct.reasons == through_c.reasons);
  REQUIRE(direct.outputs.size() == through_c.outputs.size());
  for (std::size_t i = 0; i < direct.outputs.size(); ++i)
    CHECK(is_same(direct.outputs[i], through_c.outputs[i]));
}

}  // namespace

TEST_CASE("every implementation in C++ has the same verdicts through C") {
  const std::vector<Case> cases = some_cases();
  REQUIRE(cases.size() > (test::all_are_affordable ? 200 : 20));
  for (const auto& implementation : implementations()) {
    const ExportedTable exported(*implementation);
    Implementations both;
    both.push_back(std::make_unique<TableAttention>(exported.table(),
                                                    [] { return std::make_unique<HostDevice>(); }));
    const std::vector<CaseReport> through_c = verify_all(both, cases, 1);
    Implementations direct;
    direct.push_back(find_implementation(implementation->name()));
    const std::vector<CaseReport> in_cpp = verify_all(direct, cases, 1);
    for (std::size_t i = 0; i < cases.size(); ++i) check_same(in_cpp[i], through_c[i]);
  }
}

TEST_CASE("a kernel writes the same bits through C as when it is launched itself") {
  simt::Options options;
  options.count = false;
  for (const Case& each : matching_cases("sanitize/*"))
    for (const KernelPair& pair : emulated_pairs()) {
      const AttentionProblem& problem = each.spec.problem;
      const KernelAttention through_c(pair, Machine::cpu,
                                      [&] { return std::make_unique<EmulatedDevice>(options); });
      CAPTURE(pair.name);
      CAPTURE(each.name);
      const bool is_taken = pair.forward->refusal(problem.fields()).empty();
      REQUIRE(static_cast<bool>(through_c.supports_forward(problem)) == is_taken);
      if (!is_taken) continue;
      const Data data(each.spec, 1);
      Results direct(problem), by_table(problem);
      EmulatedDevice device(options);
      const ForwardCall call(*pair.forward, problem, data.inputs(), direct.outputs(), device);
      call.launch();
      call.copy_back();
      through_c.forward(problem, data.inputs(), by_table.outputs());
      for (Output output : {Output::O, Output::LSE})
        CHECK(direct[output].bytes() == by_table[output].bytes());
    }
}
