#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tests/conformance/fuzz/draft.hpp"
#include "tests/conformance/suite.hpp"

/// The differential fuzzer: random problems of the whole contract, judged by the suite's own gates.
namespace flashbook::conformance {

/// The implementations to judge on one problem; draws are for what they leave open, such as blocks.
/// Called from several threads at once.
using Contestants = std::function<std::vector<std::unique_ptr<Implementation>>(Draws&)>;

/// It ends with whichever comes first: a number of problems, a time, or a failure.
struct FuzzLimits {
  std::uint64_t problems = std::numeric_limits<std::uint64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

/// Problem `number` (from 0) of a fuzzing seed. A report's command holds `data_seed`, below 2^53.
struct FuzzProblem {
  std::uint64_t data_seed;
  Draft draft;
};
/// Small ones, so that a second has many; one in 64 has some dozens of tokens and channels.
FuzzProblem fuzz_problem(std::uint64_t seed, std::uint64_t number);

struct FuzzFailure {
  std::uint64_t number;      ///< of the problem
  CaseReport found, shrunk;  ///< as drawn; the smallest that fails
};

struct FuzzReport {
  std::uint64_t problems = 0;              ///< judged
  std::array<std::uint64_t, 4> runs = {};  ///< implementations run on them, by Status
  /// Times that gate 2 or 3 alone failed, and did not on other data of the same problem. They are
  /// statistical: a fault fails them again, a correct kernel once in some 10,000 small problems.
  std::uint64_t chances = 0;
  double seconds = 0;
  /// The first by number: it does not depend on threads, nor on the time it took.
  std::optional<FuzzFailure> failure;
};

using FuzzProgress = std::function<void(std::uint64_t problems, double seconds)>;

/// Judges the contestants on problem 0, 1, … of a seed, on all threads, and shrinks the first
/// failure. `progress` (may be empty) is called about ten times a second, from one thread.
FuzzReport fuzz(const Contestants& contestants, std::uint64_t seed, const FuzzLimits& limits,
                const FuzzProgress& progress = {});

}  // namespace flashbook::conformance
