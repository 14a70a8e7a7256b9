#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/algorithms.hpp"

/// What the questions to the simulator have in common: their options, and the checks of them.
/// Everything throws InputError that names the flag.
namespace flashbook::sim {

[[noreturn]] void refuse(const std::string& flag, const std::string& value,
                         const std::string& what_to_do);
void check_positive(const std::string& flag, Index value);
/// Bytes of SRAM, at least 1 and at most 2^50.
void check_sram(const std::string& flag, Index bytes);
/// fp16, bf16 or fp32.
DType dtype_of(const std::string& text);
/// The names of all algorithms, for help texts.
std::string algorithm_names();
/// The rows of the table that --algorithm names; refuses a name that comes twice.
std::vector<const io::Algorithm*> algorithms_called(const std::vector<std::string>& names);

/// Self-attention: N_q = N_k = N, d_v = d, a key/value head for each query head.
struct ProblemOptions {
  Index n = 1024, d = 64, batch = 1, heads = 1;
  std::string dtype = "fp32";
  bool causal = false;

  /// --n, --d, --batch, --heads, --dtype, --causal. `required`: N and d have no default.
  void add_to(CLI::App& verb, bool required);
  AttentionProblem problem() const;
  /// "N = 1024, d = 64, fp32, causal", with B and H where they are not 1; without the size that
  /// `left_out` names ("n" or "d").
  std::string text(std::string_view left_out = "") const;
};

/// How a run goes about it.
struct ScheduleOptions {
  std::optional<Index> b_r, b_c, sram_bytes;
  std::string choice = "best";
  Index splits = 1;
  bool includes_init = false;

  /// --br, --bc, --sram, --blocks, --splits, --includes-init; `otherwise` says what blocks are
  /// taken where none are named.
  void add_to(CLI::App& verb, const std::string& otherwise = "without --sram: 256");
  /// --blocks.
  bool takes_paper_blocks() const;
  /// Whether the user has a say in the blocks.
  bool names_blocks() const { return b_r || b_c || sram_bytes; }
  /// Refuses what none of the algorithms would read.
  void check_used(const std::vector<const io::Algorithm*>& algorithms) const;
  /// What the algorithm reads of these: for a question to several that read different ones.
  ScheduleOptions read_by(const io::Algorithm& algorithm) const;
  /// With --sram, the blocks that fit and move the fewest bytes, or the paper's, if they fit.
  io::Schedule schedule(const io::Algorithm& algorithm, const AttentionProblem& problem) const;

 private:
  io::Blocks blocks(const io::Algorithm& algorithm, const AttentionProblem& problem,
                    const io::Schedule& schedule) const;
};

/// What one worker holds at its peak with these blocks, counted in a run on a problem of one tile;
/// nothing where even that would take long.
std::vector<io::ResidentTile> resident_tiles(const io::Algorithm& algorithm,
                                             const AttentionProblem& problem,
                                             const io::Blocks& blocks);

/// Whether a run takes about so many seconds of one core at most, and 160 MB at most for matrices
/// over all pairs; `formula` says what it would do. Questions that count many runs execute those,
/// and answer the others from closed forms, which are the same integers.
bool is_quick(const AttentionProblem& problem, const io::Report& formula, double seconds = .1);

/// Refuses a run of more than about two minutes of one core, or of more than 4 GiB for matrices
/// over all pairs, which standard attention keeps; `formula` says what it would do.
void check_executable(const AttentionProblem& problem, const io::Report& formula);

/// "executed" or "closed form": how tables and records label a count.
std::string source_of(const io::Report& report);

}  // namespace flashbook::sim
