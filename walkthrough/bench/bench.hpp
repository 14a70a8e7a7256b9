// `bench` without its command line: times, judges, and says what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "walkthrough/bench/contestant.hpp"

namespace flashbook::bench {

/// What is known of one contestant on one pass of one shape.
struct Row {
  std::string impl;
  Pass pass;
  DType dtype;
  Shape shape;
  std::optional<double> seconds;     ///< a launch, median over the rounds; none: see `note`
  std::optional<double> spread;      ///< (slowest − fastest) / median of the rounds
  std::optional<double> margin;      ///< the largest fraction of a gate that its result used
  std::optional<double> gemm_flops;  ///< a second, of the matrix product in the same rounds
  std::string note;                  ///< why it was not timed, or not shown
  bool failed = false;               ///< it ran, and its result is wrong

  double flops_rate() const { return nominal_flops(shape, pass) / *seconds; }
  /// Of the matrix product's rate; nothing where there was none.
  std::optional<double> of_gemm() const {
    if (!seconds || !gemm_flops) return std::nullopt;
    return flops_rate() / *gemm_flops;
  }
};

/// The matrix product that rates are compared with.
struct Gemm {
  std::unique_ptr<Repeated> repeated;  ///< null: there is none
  double flops = 0;                    ///< of one
};

struct Options {
  int rounds = 5;
  Wanted wanted = [](const std::string&) { return true; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Times all teams on one task: in each round everybody once, one after the other, the matrix
/// product first. Then judges what the timed launches wrote.
std::vector<Row> bench(const Task& task, const std::vector<Team*>& teams, const Gemm& gemm,
                       const Options& options);

}  // namespace flashbook::bench
