// Who is timed by `bench`, whatever it runs on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/api/device.hpp"
#include "tests/conformance/data.hpp"
#include "walkthrough/bench/shape.hpp"
#include "walkthrough/bench/tensors.hpp"

namespace flashbook::bench {

/// A pass of a problem, and what all contestants share.
struct Task {
  Shape shape;
  Pass pass;
  const AttentionProblem& problem;
  const Tensors& tensors;
};

/// One pass of one problem, ready to be timed.
class Contestant {
 public:
  virtual ~Contestant() = default;
  /// Seconds of one launch, the mean of many back to back, once the machine has settled.
  virtual double seconds() = 0;
  /// What the timed launches wrote, and for a backward pass what they read: in `room` or in memory
  /// of its own. Throws std::runtime_error if something was not written, or written elsewhere.
  virtual const conformance::Results& results(conformance::Results& room) = 0;
};

/// Whoever came for a task: someone to time, or the reason why not.
struct Entry {
  std::string impl;  ///< "cuda.one_pass@gpu"
  Properties properties;
  std::vector<conformance::Output> judged;
  std::unique_ptr<Contestant> contestant;
  std::string why_not;
  bool failed = false;  ///< it should run, and does not
};

/// The outputs of a pass.
inline std::vector<conformance::Output> outputs_of(Pass pass) {
  using conformance::Output;
  if (pass == Pass::forward) return {Output::O, Output::LSE};
  return {Output::dQ, Output::dK, Output::dV};
}

/// Whether somebody of that name takes part.
using Wanted = std::function<bool(const std::string& impl)>;

/// Contestants of one kind.
class Team {
 public:
  virtual ~Team() = default;
  /// Those that are wanted, ready. All must be gone before the next call.
  virtual std::vector<Entry> enter(const Task& task, const Wanted& wanted) = 0;
};

}  // namespace flashbook::bench
