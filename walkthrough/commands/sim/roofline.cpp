#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/roofline_report.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/machine_file.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;

/// `sim roofline`: what the user asked for.
struct Question {
  std::vector<std::string> machines, algorithms = {"standard_forward", "fa2_forward"};
  ProblemOptions problem = {.n = 4096, .d = 128, .batch = 4, .heads = 16, .dtype = "bf16"};
  ScheduleOptions schedule;
  bool analytic = false;
  OutputOptions output;
};

constexpr std::size_t most_lines = 8;  // of a plot

std::string machine_names() {
  std::string names;
  for (const io::Gpu& gpu : io::gpus()) names += gpu.name + ", ";
  return names + "or FILE.json";
}

std::vector<io::Gpu> machines_called(const std::string& name) {
  if (name.ends_with(".json")) return read_machines(name);
  if (const io::Gpu* gpu = io::find_gpu(name)) return {*gpu};
  refuse("--machine", name, "pass " + machine_names());
}

std::vector<io::Gpu> machines_of(const Question& q) {
  if (q.machines.empty()) return {io::gpus().begin(), io::gpus().end()};
  std::vector<io::Gpu> all;
  for (const std::string& name : q.machines)
    for (io::Gpu& gpu : machines_called(name)) {
      for (const io::Gpu& other : all)
        if (io::same_name(gpu.name, other.name))
          refuse("--machine", gpu.name, "two have this name; give each its own");
      all.push_back(std::move(gpu));
    }
  return all;
}

/// What none of the algorithms would read must not be given.
void check_used(const ScheduleOptions& options, const std::vector<const io::Algorithm*>& all) {
  const auto check_taken = [&](bool is_given, const char* flags, bool io::Takes::*taken) {
    const auto takes = [&](const io::Algorithm* algorithm) { return algorithm->takes.*taken; };
    if (is_given && std::none_of(all.begin(), all.end(), takes))
      throw InputError(std::string("none of the algorithms takes ") + flags +
                       ": leave it out, or pass an --algorithm that does");
  };
  check_taken(options.b_r || options.b_c || options.sram_bytes, "--br, --bc or --sram",
              &io::Takes::blocks);
  check_taken(options.splits != 1, "--splits", &io::Takes::splits);
  check_taken(options.includes_init, "--includes-init", &io::Takes::init);
}

/// Blocks as asked for, or those that move the fewest bytes through this machine's SRAM. What is
/// chosen for an SRAM runs in it.
io::RunOptions options_on(const io::Gpu& gpu, const Question& q, const io::Algorithm& algorithm,
                          const AttentionProblem& problem) {
  ScheduleOptions options = q.schedule;
  const bool chosen = options.b_r || options.b_c || options.sram_bytes;
  if (!algorithm.takes.blocks)
    options.b_r = options.b_c = options.sram_bytes = std::nullopt;
  else if (!chosen)
    options.sram_bytes = gpu.sram_bytes;
  if (!algorithm.takes.splits) options.splits = 1;
  if (!algorithm.takes.init) options.includes_init = false;
  io::RunOptions run = {options.schedule(algorithm, problem)};
  run.sram_bytes = options.sram_bytes.value_or(io::Sram::unlimited);
  return run;
}

io::Report count(const Question& q, const io::Algorithm& algorithm, const AttentionProblem& problem,
                 const io::RunOptions& options) {
  if (q.analytic) return closed_form(algorithm, problem, options);
  const AttentionProblem one = one_head_of(problem);
  check_executable(one, closed_form(algorithm, one, options));
  return run_one_head(algorithm, problem, options);
}

/// One algorithm on all machines. Those of one SRAM size share blocks and counts.
void add_rows(const Question& q, const io::Algorithm& algorithm, const Progress& progress,
              Roofline& roofline) {
  struct Counted {
    io::Schedule schedule;
    io::Report report;
  };
  const AttentionProblem problem = q.problem.problem();
  std::map<Index, Counted> by_sram;
  for (const io::Gpu& gpu : roofline.gpus) {
    auto found = by_sram.find(gpu.sram_bytes);
    if (found == by_sram.end()) {
      progress.show(std::string(algorithm.name) + " on " + gpu.name);
      const io::RunOptions options = options_on(gpu, q, algorithm, problem);
      const io::Report report = count(q, algorithm, problem, options);
      found = by_sram.emplace(gpu.sram_bytes, Counted{options, report}).first;
    }
    const auto& [schedule, report] = found->second;
    const io::Demand demand = demand_of(algorithm, problem, schedule, report);
    roofline.rows.push_back(
        {algorithm, gpu, schedule, report, demand, times_on(gpu, problem.dtype(), demand)});
  }
}

void check_fits_a_plot(const Roofline& roofline) {
  const std::size_t lines = roofline.gpus.size() + roofline.algorithms.size();
  if (lines > most_lines)
    throw InputError("--machine and --algorithm make " + std::to_string(lines) +
                     " lines: pass at most 8 in all, such as one --machine");
}

void roofline(const Question& q) {
  q.output.check();
  Roofline roofline = {q.problem, machines_of(q), algorithms_called(q.algorithms), {}};
  check_fits_a_plot(roofline);
  check_used(q.schedule, roofline.algorithms);
  {
    const Progress progress("counting");
    for (const io::Algorithm* algorithm : roofline.algorithms)
      add_rows(q, *algorithm, progress, roofline);
  }
  const Plot plot = plot_of(roofline);
  q.output.write(records_of(roofline), svg(plot));
  if (q.output.json)
    std::cout << as_json(roofline).dump(2) << "\n";
  else
    std::cout << as_text(roofline);
}

std::string about_machine_files() {
  std::string text =
      "For each machine: how long the products, exp2 and the DRAM traffic of an\n"
      "algorithm would take alone, and which takes longest.\n\n"
      "FILE.json describes a machine of your own, or a list of them, each an object of\n"
      "  name, source  (texts)";
  for (const io::GpuField& field : io::gpu_fields())
    text += "\n  " + std::string(field.name) + "  (" + std::string(field.meaning) +
            (field.may_be_unknown ? "; may be left out)" : ")");
  return text;
}

}  // namespace

void add_sim_roofline(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "roofline", "how fast GPUs could run it: arithmetic, exp2 and memory, and which binds");
  const auto q = std::make_shared<Question>();
  verb->add_option("--machine", q->machines,
                   machine_names() + "; may be repeated (default: all five)");
  verb->add_option("--algorithm", q->algorithms, "up to seven, with commas: " + algorithm_names())
      ->delimiter(',')
      ->capture_default_str();
  q->problem.add_to(*verb, false);
  q->schedule.add_to(*verb, "without --sram: the best for each machine's SRAM");
  verb->add_flag("--analytic", q->analytic,
                 "from closed forms: any N at once, the same integers. Without it one head is run");
  q->output.add_to(*verb);
  verb->footer(about_machine_files());
  verb->callback([q] { roofline(*q); });
}

}  // namespace flashbook
