#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/judge.hpp"

/// The judge: implementations × cases × outputs.
namespace flashbook::conformance {

enum class Status {
  passed,
  failed,
  skipped,  ///< the case cannot be held by a materialised path of this dtype
  refused,  ///< the implementation does not take it, as its row of the support table says
};
std::string_view name(Status status);

struct OutputReport {
  Output output;
  Margins margins;
  /// Largest error over that of standard attention in the same 16-bit type: the popular rule allows
  /// 2. For information; absent in fp32 and fp64, and where standard attention is exact or
  /// overflows.
  std::optional<double> ratio_to_standard;
};

struct CaseReport {
  std::string implementation, case_name;
  DType dtype = DType::fp32;
  Status status = Status::passed;
  /// Why it failed (one sentence a fault), was skipped or refused; a case that passed forward may
  /// still say why backward was refused.
  std::vector<std::string> reasons;
  std::vector<OutputReport> outputs;  ///< those judged
  std::string command;                ///< runs the same check again; empty for a caller's tensors

  void fail(std::string reason);
};

/// The command line that judges what `chosen` chooses ("--impl oracle") on a problem again.
std::string command_for(const std::string& chosen, const ProblemSpec& spec, std::uint64_t seed);
/// `text` as one word of a shell command.
std::string shell_word(const std::string& text);

/// A problem with its data. What the gates expect is computed when first asked for, and kept for
/// the next implementation with the same arithmetic.
class Exercise {
 public:
  /// Data from the recipe and the seed.
  Exercise(const Case& the_case, std::uint64_t seed);
  /// A caller's tensors, which must outlive this, and cotangents N(0,1) from the seed.
  Exercise(std::string name, const AttentionProblem& problem, const Inputs& inputs,
           std::uint64_t seed);
  ~Exercise();
  Exercise(Exercise&&) noexcept;

  /// Runs both passes twice. Besides the gates: every element of an output is written and nothing
  /// else, a packed member's O and LSE are what they are without its neighbours, inputs are left as
  /// they were (a caller's are not looked at), and results repeat bit for bit unless the
  /// implementation declares otherwise. What it throws is a fault, but for bad_alloc.
  CaseReport verify(const Implementation& implementation);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

CaseReport verify(const Implementation& implementation, const Case& the_case, std::uint64_t seed);

/// Judges an implementation on real tensors; dO (and dLSE) are N(0,1).
CaseReport verify_tensors(const Implementation& implementation, std::string name,
                          const AttentionProblem& problem, const Inputs& inputs,
                          std::uint64_t seed);

using Progress = std::function<void(std::size_t done, std::size_t total, const CaseReport& latest)>;

/// Every implementation on every case, cases spread over threads; reports in the order case,
/// implementation. `progress` (may be empty) is called from one thread at a time. Throws what a
/// case threw before it could be judged, such as bad_alloc.
std::vector<CaseReport> verify_all(std::span<const std::unique_ptr<Implementation>> implementations,
                                   std::span<const Case> cases, std::uint64_t seed,
                                   const Progress& progress = {});

}  // namespace flashbook::conformance
