#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/book/screens.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/step/step_json.hpp"
#include "walkthrough/step/step_picture.hpp"
#include "walkthrough/step/stepping.hpp"

namespace flashbook {
namespace {

using namespace step;
using sim::refuse;

/// What the user of `step forward` or `step backward` asked for.
struct StepFlags {
  bool backward;
  std::string algorithm;
  sim::ProblemOptions problem = {.n = 8, .d = 4};
  sim::ScheduleOptions schedule;
  std::vector<std::string> input;
  std::string layout = "bnhd", svg;
  Index seed = 1;
  bool all = false, json = false;
  std::optional<Index> from, to;
  bool sizes_given = false;  ///< of the problem, or its seed
  bool dtype_given = false;
};

const io::Algorithm& algorithm_of(const StepFlags& flags) {
  const io::Algorithm& algorithm = io::find_algorithm(flags.algorithm);
  if (algorithm.backward != flags.backward)
    refuse("--algorithm", flags.algorithm,
           algorithm.backward ? "it is a backward pass; use 'step backward'"
                              : "it is a forward pass; use 'step forward'");
  return algorithm;
}

/// Where no tiles are asked for: 2 × 2, to be read, and larger ones where these would be too many.
io::Blocks readable_blocks(const AttentionProblem& p) {
  Index block = 2;
  const auto tiles = [&](Index tokens) { return static_cast<double>(io::ceil_div(tokens, block)); };
  const double heads = static_cast<double>(p->batch * p->heads_q);
  while (heads * tiles(p->n_q) * tiles(p->n_k) > most_tiles && block < p->n_q + p->n_k) block *= 2;
  return {block, block};
}

io::Schedule schedule_of(const StepFlags& flags, const io::Algorithm& algorithm,
                         const AttentionProblem& problem) {
  sim::ScheduleOptions schedule = flags.schedule;
  if (algorithm.takes.blocks && !schedule.names_blocks()) {
    const io::Blocks blocks = readable_blocks(problem);
    schedule.b_r = blocks.rows;
    schedule.b_c = blocks.columns;
  }
  return schedule.schedule(algorithm, problem);
}

Subject random_of(const StepFlags& flags, const io::Algorithm& algorithm) {
  const AttentionProblem problem = flags.problem.problem();
  check_steppable(algorithm, problem, schedule_of(flags, algorithm, problem));
  return random_subject(problem, flags.seed);
}

Subject files_of(const StepFlags& flags) {
  const bool has_cotangent = flags.input.size() == 4;
  if (has_cotangent && !flags.backward)
    throw InputError(
        "--input has 4 files, of which the last is dO, and a forward pass has none: "
        "pass one or three, or use 'step backward'");
  AttendRequest request;
  request.layout = flags.layout;
  if (flags.dtype_given) request.dtype = flags.problem.dtype;
  if (flags.problem.causal) request.causal = "bottom-right";
  Subject subject = subject_of_files(flags.input, std::move(request));
  if (flags.backward && !has_cotangent) subject.source += ", a random dO";
  return subject;
}

Subject subject_of(const StepFlags& flags, const io::Algorithm& algorithm) {
  if (!flags.input.empty()) return files_of(flags);
  if (flags.sizes_given) return random_of(flags, algorithm);
  return worked_example(sim::dtype_of(flags.problem.dtype), flags.problem.causal);
}

/// The steps to print, from 0: [first, last).
io::Range steps_of(const StepFlags& flags, const StepRun& run) {
  const auto check = [&](const char* flag, std::optional<Index> step) {
    if (step && (*step < 1 || *step > run.size()))
      refuse(flag, std::to_string(*step),
             "the run has the steps 1 to " + std::to_string(run.size()));
  };
  check("--from", flags.from);
  check("--to", flags.to);
  const Index first = flags.from.value_or(1);
  const Index last = flags.to.value_or(flags.svg.empty() ? run.size() : first);
  if (last < first)
    refuse("--to", std::to_string(last), "it is before --from " + std::to_string(first));
  return {first - 1, last};
}

void print(const StepRun& run, const io::Range& steps, Ink ink) {
  std::cout << heading_of(run, ink);
  for (Index at = steps.first; at < steps.last; ++at) std::cout << "\n" << screen_of(run, at, ink);
}

void step_through(const StepFlags& flags) {
  const io::Algorithm& algorithm = algorithm_of(flags);
  if (!flags.svg.empty()) check_writable("--svg", flags.svg);
  Subject subject = subject_of(flags, algorithm);
  const io::Schedule schedule = schedule_of(flags, algorithm, subject.tensors.problem);
  const StepRun run = run_steps(algorithm, std::move(subject), schedule);
  const io::Range steps = steps_of(flags, run);
  if (!flags.svg.empty()) write_file("--svg", flags.svg, picture_of(run, steps.first));
  const Ink ink = wants_colour() ? Ink::coloured : Ink::plain;
  const bool prints = flags.all || flags.from || flags.to || !flags.svg.empty();
  if (flags.json) {
    std::cout << as_json(run, steps.first, steps.last).dump(2) << "\n";
  } else if (prints || !is_interactive()) {
    print(run, steps, ink);
  } else {
    const Keyboard keyboard;
    step_by_key(
        run, [&] { return keyboard.next(); }, std::cout, ink,
        [] { return book::terminal_size().lines; });
  }
}

std::string names_of_pass(bool backward) {
  std::string names;
  for (const io::Algorithm& algorithm : io::algorithms())
    if (algorithm.backward == backward)
      names.append(names.empty() ? "" : ", ").append(algorithm.name);
  return names;
}

void add_output(CLI::App& verb, StepFlags& flags) {
  verb.add_flag("--all", flags.all, "print all steps, also on a terminal");
  verb.add_option("--from", flags.from, "print from this step on");
  verb.add_option("--to", flags.to, "print up to this step");
  verb.add_flag("--json", flags.json, "for programs");
  verb.add_option("--svg", flags.svg, "writes a picture of step --from to this file");
}

void add_pass(CLI::App& step, bool backward) {
  CLI::App* verb = backward ? step.add_subcommand("backward", "the gradients of one attention")
                            : step.add_subcommand("forward", "one attention");
  const auto flags = std::make_shared<StepFlags>();
  flags->backward = backward;
  flags->algorithm = backward ? "three_kernel_backward" : "fa2_forward";
  verb->add_option("--algorithm", flags->algorithm, names_of_pass(backward))->capture_default_str();
  flags->problem.add_to(*verb, false);
  flags->schedule.add_to(*verb, "without --sram: 2, more of many tokens");
  CLI::Option* seed =
      verb->add_option("--seed", flags->seed, "of random numbers")->capture_default_str();
  CLI::Option* input = verb->add_option(
      "--input", flags->input,
      backward
          ? "your .npy: one that is Q, K and V, or three, or a fourth for dO (default: four tokens)"
          : "your .npy: one that is Q, K and V, or three (default: four tokens)");
  input->type_name("FILE ...");
  for (const char* size : {"--n", "--d", "--batch", "--heads"})
    input->excludes(verb->get_option(size));
  input->excludes(seed);
  verb->add_option("--layout", flags->layout, "of --input: bnhd or bhnd")
      ->capture_default_str()
      ->needs(input);
  add_output(*verb, *flags);
  verb->callback([flags, verb] {
    for (const char* size : {"--n", "--d", "--batch", "--heads", "--seed"})
      flags->sizes_given = flags->sizes_given || verb->count(size) > 0;
    flags->dtype_given = verb->count("--dtype") > 0;
    step_through(*flags);
  });
}

}  // namespace

void add_step(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("step", "attention tile by tile, every number shown");
  verb->require_subcommand(1);
  add_pass(*verb, false);
  add_pass(*verb, true);
}

}  // namespace flashbook
