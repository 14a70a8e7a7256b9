#pragma once

#include <string>
#include <vector>

#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/conformance/support.hpp"

namespace flashbook::conformance {

/// One implementation on one exercise: runs it, and checks what needs no oracle.
class Trial {
 public:
  /// Runs on a copy of the data, so that what writes to its inputs harms itself alone; a caller's
  /// tensors (`given`) are read where they are. Faults go to the report.
  Trial(const Implementation& implementation, const AttentionProblem& problem, const Data& data,
        const Inputs* given, CaseReport& report);

  /// Runs both passes twice, and returns the outputs to judge.
  std::vector<Output> run();
  const Results& results() const { return first_; }

 private:
  std::vector<Output> run_passes();
  void run_forward();
  void run_backward();
  bool is_taken(Pass pass);
  void check_misplaced(Output output);
  void check_alone(const Member& m);
  void check_repeats(Output output);
  void fail(std::string reason) { report_.fail(std::move(reason)); }

  const Implementation& implementation_;
  const AttentionProblem& problem_;
  const Data& pristine_;
  Data data_;
  Inputs inputs_;
  Cotangents cotangents_;
  CaseReport& report_;
  Results first_, second_;
};

}  // namespace flashbook::conformance
