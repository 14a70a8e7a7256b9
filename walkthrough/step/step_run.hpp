#pragma once

#include <string>
#include <vector>

#include "sim/io/steps.hpp"
#include "walkthrough/attend_tensors.hpp"

/// A run of one algorithm whose every step is kept, for `flashbook step`.
namespace flashbook::step {

/// What the run reads, and where that comes from.
struct Subject {
  std::string source;  ///< "random numbers, seed 1"
  AttendTensors tensors;
};

struct StepRun {
  const io::Algorithm* algorithm;
  Subject subject;
  io::Schedule schedule;
  io::Report report;            ///< of the whole run
  std::vector<io::Step> steps;  ///< at least one
  /// What had moved after each step: for each of report.tensors, in elements.
  std::vector<std::vector<io::Counts>> so_far;

  const AttentionProblem& problem() const { return subject.tensors.problem; }
  Index size() const { return static_cast<Index>(steps.size()); }
  const io::Step& operator[](Index at) const { return steps[static_cast<std::size_t>(at)]; }
  /// Of one step alone, for each of report.tensors.
  std::vector<io::Counts> moved_by(Index at) const;
  /// B_r, B_c, N, d and the rest, in a line.
  std::string about() const;
};

/// Four tokens of d = 2 and small whole numbers: query 0 scores the keys 3, 5, 10 and 2, so that
/// the maximum grows on the way.
Subject worked_example(DType dtype, bool causal);

/// Normal random numbers in a problem of [B, N, H, d].
Subject random_subject(const AttentionProblem& problem, Index seed);

/// The reader's .npy files: one that is Q, K and V, or Q, K and V, or these and dO. A missing dO is
/// random. Float64 is read as fp32 unless `request` says otherwise. Throws InputError.
Subject subject_of_files(const std::vector<std::string>& files, AttendRequest request);

/// Most tiles of S that a run may visit.
inline constexpr Index most_tiles = 10'000;

/// Throws InputError where a run would have more to keep than a reader can want.
void check_steppable(const io::Algorithm& algorithm, const AttentionProblem& problem,
                     const io::Schedule& schedule);

/// Runs the algorithm on the simulated memory and keeps every step; a backward pass gets O and LSE
/// from a forward pass that is neither shown nor counted.
/// Throws InputError for what check_steppable or io::run refuses, and for a problem without tokens.
StepRun run_steps(const io::Algorithm& algorithm, Subject subject, const io::Schedule& schedule);

}  // namespace flashbook::step
