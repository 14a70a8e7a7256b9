#include "walkthrough/commands/sim/question.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook::sim {

using io::Blocks;

void refuse(const std::string& flag, const std::string& value, const std::string& what_to_do) {
  throw InputError(flag + " is " + value + ": " + what_to_do);
}

void check_positive(const std::string& flag, Index value) {
  if (value < 1) refuse(flag, std::to_string(value), "it must be at least 1");
}

void check_sram(const std::string& flag, Index bytes) {
  check_positive(flag, bytes);
  if (bytes > Index{1} << 50)
    refuse(flag, std::to_string(bytes), "pass at most 2^50 = 1125899906842624 bytes");
}

DType dtype_of(const std::string& text) {
  const auto dtype = dtype_called(text);
  if (!dtype || *dtype == DType::fp64) refuse("--dtype", text, "pass fp16, bf16 or fp32");
  return *dtype;
}

std::string algorithm_names() {
  std::string names;
  for (const io::Algorithm& algorithm : io::algorithms())
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  return names;
}

std::vector<const io::Algorithm*> algorithms_called(const std::vector<std::string>& names) {
  std::vector<const io::Algorithm*> found;
  for (const std::string& name : names) {
    const io::Algorithm* algorithm = &io::find_algorithm(name);
    if (std::find(found.begin(), found.end(), algorithm) != found.end())
      refuse("--algorithm", name, "it comes twice; name each algorithm once");
    found.push_back(algorithm);
  }
  return found;
}

// ---- the problem

void ProblemOptions::add_to(CLI::App& verb, bool required) {
  const auto add = [&](const char* flag, Index& value, const char* what) {
    return verb.add_option(flag, value, what);
  };
  CLI::Option* tokens = add("--n", n, "tokens: N_q = N_k = N");
  CLI::Option* channels = add("--d", d, "head dimension");
  for (CLI::Option* option : {tokens, channels})
    required ? option->required() : option->capture_default_str();
  add("--batch", batch, "sequences")->capture_default_str();
  add("--heads", heads, "query heads, each with a key/value head")->capture_default_str();
  verb.add_option("--dtype", dtype, "fp16, bf16 or fp32")->capture_default_str();
  verb.add_flag("--causal", causal, "hide keys right of the diagonal");
}

AttentionProblem ProblemOptions::problem() const {
  check_positive("--n", n);
  check_positive("--d", d);
  check_positive("--batch", batch);
  check_positive("--heads", heads);
  io::check_countable("--n", n, d, static_cast<double>(batch) * static_cast<double>(heads));
  flashbook_problem p = dense_problem(batch, heads, heads, n, n, d, d);
  p.dtype = static_cast<std::int32_t>(dtype_of(dtype));
  p.causal = causal;
  return AttentionProblem(p);
}

std::string ProblemOptions::text(std::string_view left_out) const {
  std::string sizes;
  if (left_out != "n") sizes += "N = " + std::to_string(n) + ", ";
  if (left_out != "d") sizes += "d = " + std::to_string(d) + ", ";
  if (batch != 1) sizes += "B = " + std::to_string(batch) + ", ";
  if (heads != 1) sizes += "H = " + std::to_string(heads) + ", ";
  return sizes + dtype + (causal ? ", causal" : "");
}

// ---- the schedule

void ScheduleOptions::add_to(CLI::App& verb, const std::string& otherwise) {
  CLI::Option* rows = verb.add_option("--br", b_r, "query rows of a tile of S (" + otherwise + ")");
  CLI::Option* keys = verb.add_option("--bc", b_c, "keys of a tile of S (" + otherwise + ")");
  verb.add_option("--sram", sram_bytes,
                  "bytes of SRAM: takes the tiles that fit and move the fewest bytes")
      ->excludes(rows)
      ->excludes(keys);
  verb.add_option("--blocks", choice,
                  "with --sram: best, or paper for B_c = ceil(M/4d), B_r = min(B_c, d)")
      ->capture_default_str();
  verb.add_option("--splits", splits, "runs of keys that a row's keys are cut into, a worker each")
      ->capture_default_str();
  verb.add_flag("--includes-init", includes_init, "count clearing the outputs too (FA1)");
}

bool ScheduleOptions::takes_paper_blocks() const {
  if (choice != "best" && choice != "paper") refuse("--blocks", choice, "pass best or paper");
  return choice == "paper";
}

void ScheduleOptions::check_used(const std::vector<const io::Algorithm*>& algorithms) const {
  const auto check_taken = [&](bool is_given, const char* flags, bool io::Takes::*taken) {
    const auto takes = [&](const io::Algorithm* algorithm) { return algorithm->takes.*taken; };
    if (is_given && std::none_of(algorithms.begin(), algorithms.end(), takes))
      throw InputError("none of the algorithms takes " + std::string(flags) +
                       ": leave it out, or pass an --algorithm that does");
  };
  check_taken(names_blocks(), "--br, --bc or --sram", &io::Takes::blocks);
  check_taken(takes_paper_blocks(), "--blocks", &io::Takes::blocks);
  check_taken(splits != 1, "--splits", &io::Takes::splits);
  check_taken(includes_init, "--includes-init", &io::Takes::init);
}

ScheduleOptions ScheduleOptions::read_by(const io::Algorithm& algorithm) const {
  ScheduleOptions read;
  if (algorithm.takes.blocks) read = *this;
  read.splits = algorithm.takes.splits ? splits : 1;
  read.includes_init = algorithm.takes.init && includes_init;
  return read;
}

namespace {

/// A problem in which the blocks are the whole of S.
AttentionProblem one_tile(const AttentionProblem& problem, const Blocks& blocks) {
  flashbook_problem p =
      dense_problem(1, 1, 1, blocks.rows, blocks.columns, problem->d, problem->d_v);
  p.dtype = static_cast<std::int32_t>(problem.dtype());
  return AttentionProblem(p);
}

/// The paper's blocks leave no room for S: says so, tile by tile.
void check_paper_blocks_fit(const io::Algorithm& algorithm, const AttentionProblem& problem,
                            const Blocks& blocks, Index sram_bytes) {
  const Index needed = algorithm.footprint(problem, clamped(blocks, problem));
  if (needed <= sram_bytes) return;
  const std::string tile =
      "B_r = " + std::to_string(blocks.rows) + ", B_c = " + std::to_string(blocks.columns);
  std::string tiles;
  for (const io::ResidentTile& resident : resident_tiles(algorithm, problem, blocks))
    tiles += resident.name + " " + std::to_string(resident.bytes) + ", ";
  refuse("--blocks", "paper",
         "with " + tile + " " + std::string(algorithm.name) + " holds " + tiles + "in all " +
             std::to_string(needed) + " bytes, more than --sram " + std::to_string(sram_bytes) +
             "; leave out --blocks for tiles that fit, or pass --br " +
             std::to_string(blocks.rows) + " --bc " + std::to_string(blocks.columns) +
             " in place of --sram");
}

}  // namespace

std::vector<io::ResidentTile> resident_tiles(const io::Algorithm& algorithm,
                                             const AttentionProblem& problem,
                                             const Blocks& blocks) {
  const Blocks tile = clamped(blocks, problem);
  const AttentionProblem part = one_tile(problem, tile);
  const io::Report formula = closed_form(algorithm, part, {tile});
  if (!is_quick(part, formula)) return {};
  return run_on_random(algorithm, part, {{tile}}).peak_tiles;
}

Blocks ScheduleOptions::blocks(const io::Algorithm& algorithm, const AttentionProblem& problem,
                               const io::Schedule& schedule) const {
  if (sram_bytes) {
    check_sram("--sram", *sram_bytes);
    if (!takes_paper_blocks()) return best_blocks(algorithm, problem, *sram_bytes, schedule);
    const Blocks paper = io::paper_blocks(problem, *sram_bytes);
    check_paper_blocks_fit(algorithm, problem, paper, *sram_bytes);
    return clamped(paper, problem);
  }
  if (b_r.has_value() != b_c.has_value())
    throw InputError("--br and --bc make one tile: pass both, or --sram to have them chosen");
  if (!b_r) return clamped(schedule.blocks, problem);
  check_positive("--br", *b_r);
  check_positive("--bc", *b_c);
  return io::clamped({*b_r, *b_c}, problem);
}

namespace {

/// A split reads Q, and writes and reads O and LSE in fp32.
void check_countable_splits(const AttentionProblem& problem, Index splits) {
  const double elements = static_cast<double>(problem->batch * problem->heads_q) *
                          static_cast<double>(problem->n_q) *
                          static_cast<double>(problem->d + 2 * problem->d_v + 2);
  if (4 * static_cast<double>(splits) * elements > 0x1p62)
    refuse("--splits", std::to_string(splits),
           "with so many tokens and heads its counts may pass 2^62; pass fewer");
}

}  // namespace

io::Schedule ScheduleOptions::schedule(const io::Algorithm& algorithm,
                                       const AttentionProblem& problem) const {
  io::Schedule schedule = {.splits = splits, .includes_init = includes_init};
  if (takes_paper_blocks() && !sram_bytes)
    refuse("--blocks", choice, "the paper's depend on M; pass --sram too");
  check_runs(algorithm, problem, schedule);
  check_countable_splits(problem, splits);
  if (algorithm.takes.blocks)
    schedule.blocks = blocks(algorithm, problem, schedule);
  else if (names_blocks())
    throw InputError(std::string(algorithm.name) +
                     " streams whole matrices and has no blocks: leave out --br, --bc and --sram");
  return schedule;
}

namespace {

/// Bytes of the matrices over all pairs that standard attention keeps: one of the longest member's
/// size for every member.
double pair_bytes(const AttentionProblem& problem, const io::Report& formula) {
  Index n_q = 0, n_k = 0;
  for (Index b = 0; b < (problem->packed ? problem->members : std::min<Index>(problem->batch, 1));
       ++b) {
    n_q = std::max(n_q, problem.member(b).n_q);
    n_k = std::max(n_k, problem.member(b).n_k);
  }
  const double pairs = static_cast<double>(problem->members * problem->heads_q) *
                       static_cast<double>(n_q) * static_cast<double>(n_k);
  double bytes = 0;
  for (const io::TensorTraffic& t : formula.tensors)
    if (t.name == "S" || t.name == "P" || t.name == "dP" || t.name == "dS")
      bytes += pairs * static_cast<double>(t.element_bytes);
  return bytes;
}

double tensor_elements(const AttentionProblem& problem) {
  const auto of = [](Index heads, Index tokens) {
    return static_cast<double>(heads) * static_cast<double>(tokens);
  };
  return static_cast<double>(problem->batch * (problem->d + problem->d_v)) *
         (of(problem->heads_q, problem->n_q) + of(problem->heads_kv, problem->n_k));
}

/// Of one core, from what one of a server of 2023 took for runs that consist mostly of one of
/// these.
double estimated_seconds(const AttentionProblem& problem, const io::Report& formula) {
  constexpr double products = 50e9;  // FLOP/s in tiles of 256 × 256
  constexpr double copies = 2e9;     // bytes/s between the two memories, first touch included
  constexpr double tile = .2e-6;     // s that a tile of S takes however small it is
  constexpr double draw = 25e-9;     // s to draw a random element of Q, K, V or dO
  return static_cast<double>(formula.flops_executed) / products +
         static_cast<double>(formula.bytes_read() + formula.bytes_written()) / copies +
         static_cast<double>(formula.visited_tiles) * tile + tensor_elements(problem) * draw;
}

constexpr double most_seconds = 120;        // about a minute of two cores
constexpr double most_pair_bytes = 0x1p32;  // all of S, P, dP and dS in fp32 at N = 16384
constexpr double quick_pair_bytes = 160e6;  // what nobody asked to run should not be felt

}  // namespace

bool is_quick(const AttentionProblem& problem, const io::Report& formula, double seconds) {
  return estimated_seconds(problem, formula) <= seconds &&
         pair_bytes(problem, formula) <= quick_pair_bytes;
}

void check_executable(const AttentionProblem& problem, const io::Report& formula) {
  const double seconds = estimated_seconds(problem, formula);
  if (seconds > most_seconds || pair_bytes(problem, formula) > most_pair_bytes)
    throw InputError(
        "--n, --d, --batch, --heads and the tiles make a run of about " + short_seconds(seconds) +
        " of a core and " + short_bytes(pair_bytes(problem, formula)) +
        " of matrices over all pairs, more than 2 minutes or 4 GiB: lower them, or add --analytic "
        "for the same integers from closed forms");
}

std::string source_of(const io::Report& report) {
  return report.executed ? "executed" : "closed form";
}

}  // namespace flashbook::sim
