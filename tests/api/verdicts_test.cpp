// The suite through the C interface gives the verdicts that it gives through C++.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "cuda/api/exported.hpp"
#include "cuda/api/host_device.hpp"
#include "cuda/api/implementations.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "tests/conformance/storage.hpp"
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

bool are_same(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? is_same(*a, *b) : !a && !b;
}

/// Errors of all elements go into gates 2 and 3.
bool are_same(const OutputReport& a, const OutputReport& b) {
  return a.output == b.output && is_same(a.margins.gate1, b.margins.gate1) &&
         are_same(a.margins.gate2, b.margins.gate2) && are_same(a.margins.gate3, b.margins.gate3) &&
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
    CHECK(are_same(direct.outputs[i], through_c.outputs[i]));
}

/// The tensors of a call on the emulator, which has run when it returns.
template <class Call, class... Arguments>
void run(const Arguments&... arguments) {
  simt::Options options;
  options.count = false;
  options.os_threads = 1;
  EmulatedDevice device(options);
  const Call call(arguments..., device);
  call.launch();
  device.finish();
  call.copy_back();
}

/// A pair of kernels, launched from C++: no table, no status, no message.
class Launched : public Implementation {
 public:
  explicit Launched(const KernelPair& pair) : pair_(pair) {}

  std::string name() const override { return std::string("cuda.") + pair_.name + "@cpu"; }
  Properties properties() const override {
    const KernelProperties &forward = pair_.forward->properties,
                           &backward = pair_.backward->properties;
    Properties properties;
    properties.materialised = forward.materialised || backward.materialised;
    properties.nan_spreads_within = TileShape{std::max(forward.nan_rows, backward.nan_rows),
                                              std::max(forward.nan_keys, backward.nan_keys)};
    return properties;
  }
  Support supports_forward(const AttentionProblem& problem) const override {
    return support(pair_.forward->refusal(problem.fields()));
  }
  Support supports_backward(const AttentionProblem& problem) const override {
    return support(pair_.backward->refusal(problem.fields()));
  }
  void forward(const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& outputs) const override {
    run<ForwardCall>(*pair_.forward, problem, inputs, outputs);
  }
  void backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                const Cotangents& cotangents, const Gradients& gradients) const override {
    run<BackwardCall>(*pair_.backward, problem, inputs, saved, cotangents, gradients);
  }

 private:
  static Support support(const std::string& refusal) {
    return refusal.empty() ? Support::yes() : Support::no(refusal);
  }

  KernelPair pair_;
};

/// What every kernel takes, and options that some or all refuse.
std::vector<Case> small_cases() {
  std::vector<Case> cases;
  for (const char* words :
       {"hq=4 hkv=2 nq=17 nk=33 d=64 dtype=bf16 causal plant=nan-v",
        "nq=20 nk=7 d=64 dtype=fp16 causal scale=-0.5 dlse", "nq=19 nk=70 d=48 dtype=fp32",
        "nq=0 nk=4 d=64 dtype=bf16", "nq=9 d=64 dtype=fp16 softcap=20",
        "nq=9 d=64 dtype=fp16 sinks", "nq=9 d=64 dtype=fp64"})
    cases.push_back({words, parse_problem(words)});
  return cases;
}

/// The pair that a kernel of `list` is.
const KernelPair& pair_of(const Implementation& kernel) {
  const auto pairs = emulated_pairs();
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const KernelPair& pair) {
    return Launched(pair).name() == kernel.name();
  });
  REQUIRE(found != pairs.end());
  return *found;
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

TEST_CASE("every kernel has the same verdicts through C as when it is launched from C++") {
  const std::vector<Case> cases = small_cases();
  const Implementations all = kernels_on(Machine::cpu);
  REQUIRE(all.size() == emulated_pairs().size());
  for (const auto& through_c : all) {
    CAPTURE(through_c->name());
    const Launched direct(pair_of(*through_c));
    int passed = 0;
    for (const Case& each : cases) {
      const CaseReport report = verify(direct, each, 1);
      check_same(report, verify(*through_c, each, 1));
      passed += report.status == Status::passed;
    }
    CHECK(passed >= 3);
  }
}
