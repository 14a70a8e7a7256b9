#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "sim/io/algorithms.hpp"

/// What the questions to the simulator have in common: their options, and the checks of them.
/// Everything throws InputError that names the flag.
namespace flashbook::sim {

[[noreturn]] void refuse(const std::string& flag, const std::string& value,
                         const std::string& what_to_do);
void check_positive(const std::string& flag, Index value);
/// fp16, bf16 or fp32.
DType dtype_of(const std::string& text);
/// The names of all algorithms, for help texts.
std::string algorithm_names();

/// Self-attention: N_q = N_k = N, d_v = d, a key/value head for each query head.
struct ProblemOptions {
  Index n = 1024, d = 64, batch = 1, heads = 1;
  std::string dtype = "fp32";
  bool causal = false;

  /// --n, --d, --batch, --heads, --dtype, --causal. `required`: N and d have no default.
  void add_to(CLI::App& verb, bool required);
  AttentionProblem problem() const;
};

/// How a run goes about it.
struct ScheduleOptions {
  std::optional<Index> b_r, b_c, sram_bytes;
  Index splits = 1;
  bool includes_init = false;

  /// --br, --bc, --sram, --splits, --includes-init; `otherwise` says what their absence means.
  void add_to(CLI::App& verb, const std::string& otherwise = "without --sram: 256");
  /// With --sram, the blocks that fit and move the fewest bytes.
  io::Schedule schedule(const io::Algorithm& algorithm, const AttentionProblem& problem) const;
};

/// Refuses a run of more than about a minute of two cores, or of more memory than 4 GiB for the
/// matrices that standard attention keeps; `formula` says what it would do.
void check_executable(const AttentionProblem& problem, const io::Report& formula);

}  // namespace flashbook::sim
