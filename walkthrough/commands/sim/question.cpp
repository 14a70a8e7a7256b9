#include "walkthrough/commands/sim/question.hpp"

#include <CLI/CLI.hpp>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"

namespace flashbook::sim {

using io::Blocks;

void refuse(const std::string& flag, const std::string& value, const std::string& what_to_do) {
  throw InputError(flag + " is " + value + ": " + what_to_do);
}

void check_positive(const std::string& flag, Index value) {
  if (value < 1) refuse(flag, std::to_string(value), "it must be at least 1");
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

// ---- the problem

namespace {

/// Counts are 64-bit integers; FLOPs are the largest of them.
void check_countable(const ProblemOptions& o) {
  const double flops = 20. * static_cast<double>(o.n) * static_cast<double>(o.n) *
                       static_cast<double>(o.d) * static_cast<double>(o.batch) *
                       static_cast<double>(o.heads);
  if (flops > 0x1p62)
    refuse("--n", std::to_string(o.n),
           "with these --d, --batch and --heads its counts pass 2^63; pass smaller sizes");
}

}  // namespace

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
  check_countable(*this);
  flashbook_problem p = dense_problem(batch, heads, heads, n, n, d, d);
  p.dtype = static_cast<std::int32_t>(dtype_of(dtype));
  p.causal = causal;
  return AttentionProblem(p);
}

// ---- the schedule

void ScheduleOptions::add_to(CLI::App& verb, const std::string& otherwise) {
  CLI::Option* rows = verb.add_option("--br", b_r, "query rows of a tile of S (" + otherwise + ")");
  CLI::Option* keys = verb.add_option("--bc", b_c, "keys of a tile of S (" + otherwise + ")");
  verb.add_option("--sram", sram_bytes,
                  "bytes of SRAM: takes the tiles that fit and move the fewest bytes")
      ->check(CLI::Range(1.0, 1e18))
      ->excludes(rows)
      ->excludes(keys);
  verb.add_option("--splits", splits, "runs of keys that a row's keys are cut into, a worker each")
      ->capture_default_str();
  verb.add_flag("--includes-init", includes_init, "count clearing the outputs too (FA1)");
}

io::Schedule ScheduleOptions::schedule(const io::Algorithm& algorithm,
                                       const AttentionProblem& problem) const {
  io::Schedule schedule = {.splits = splits, .includes_init = includes_init};
  check_runs(algorithm, problem, schedule);
  if (!algorithm.takes.blocks) {
    if (b_r || b_c || sram_bytes)
      throw InputError(std::string(algorithm.name) +
                       " streams whole matrices and has no blocks: leave out --br, --bc and "
                       "--sram");
    return schedule;
  }
  if (sram_bytes) {
    check_positive("--sram", *sram_bytes);
    schedule.blocks = best_blocks(algorithm, problem, *sram_bytes, schedule);
    return schedule;
  }
  if (b_r.has_value() != b_c.has_value())
    throw InputError("--br and --bc make one tile: pass both, or --sram to have them chosen");
  if (b_r) {
    check_positive("--br", *b_r);
    check_positive("--bc", *b_c);
    schedule.blocks = {*b_r, *b_c};
  }
  schedule.blocks = clamped(schedule.blocks, problem);
  return schedule;
}

void check_executable(const AttentionProblem& problem, const io::Report& formula) {
  const Index most_flops = 5'000'000'000'000, most_bytes = Index{4} << 30;
  Index n2_bytes = 0;
  for (const io::TensorTraffic& t : formula.tensors)
    if (t.name == "S" || t.name == "P" || t.name == "dP" || t.name == "dS")
      n2_bytes += problem->batch * problem->heads_q * problem->n_q * problem->n_k * t.element_bytes;
  if (formula.flops_executed > most_flops || n2_bytes > most_bytes)
    throw InputError(
        "--n, --d, --batch and --heads make a run of more than a minute or 4 GiB: lower them, or "
        "add --analytic for the same integers from closed forms");
}

}  // namespace flashbook::sim
