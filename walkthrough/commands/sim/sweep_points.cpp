#include "walkthrough/commands/sim/sweep_points.hpp"

#include <CLI/CLI.hpp>
#include <cmath>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook::sim {

// ---- the axis

namespace {

const std::vector<SweptAxis> axes = {
    {"n", "--n", "N", "tokens N", short_count},
    {"d", "--d", "d", "head dimension d", short_count},
    {"m", "--sram", "M", "SRAM M of a worker, bytes", short_bytes},
    {"br", "--br", "B_r", "query rows of a tile, B_r", short_count},
    {"bc", "--bc", "B_c", "keys of a tile, B_c", short_count}};

}  // namespace

const SweptAxis& axis_of(const std::string& over) {
  for (const SweptAxis& axis : axes)
    if (axis.name == over) return axis;
  refuse("--over", over, "pass n, d, m, br or bc");
}

namespace {

/// The question with the axis's value in the place of its flag.
SweepQuestion at(const SweepQuestion& question, Index value) {
  SweepQuestion q = question;
  if (q.over == "n") q.problem.n = value;
  if (q.over == "d") q.problem.d = value;
  if (q.over == "m") q.schedule.sram_bytes = value;
  if (q.over == "br") q.schedule.b_r = value;
  if (q.over == "bc") q.schedule.b_c = value;
  if (q.over == "br" && !q.schedule.b_c) q.schedule.b_c = io::default_blocks.columns;
  if (q.over == "bc" && !q.schedule.b_r) q.schedule.b_r = io::default_blocks.rows;
  return q;
}

/// Evenly spaced logarithms, as whole numbers; without --points one to each doubling.
std::vector<Index> values_of(const SweepQuestion& q) {
  const double doublings = std::log2(static_cast<double>(q.to) / static_cast<double>(q.from));
  const Index intervals =
      q.points ? *q.points - 1 : std::max<Index>(1, std::llround(std::min(doublings, 60.)));
  std::vector<Index> values;
  for (Index i = 0; i <= intervals; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(intervals);
    const Index value = std::llround(static_cast<double>(q.from) * std::exp2(part * doublings));
    if (values.empty() || value > values.back()) values.push_back(value);
  }
  return values;
}

void check_range(const SweepQuestion& q) {
  check_positive("--from", q.from);
  if (q.to <= q.from)
    refuse("--to", std::to_string(q.to),
           "it must be more than --from, which is " + std::to_string(q.from));
  if (q.points && (*q.points < 2 || *q.points > 200))
    refuse("--points", std::to_string(*q.points), "pass 2 to 200");
  if (q.to > Index{1} << 50)
    refuse("--to", std::to_string(q.to), "pass at most 2^50 = 1125899906842624");
  if (q.problem.causal && at(q, q.to).problem.n > Index{1} << 22)
    refuse(q.over == "n" ? "--to" : "--n", std::to_string(at(q, q.to).problem.n),
           "with --causal tiles are counted one by one; pass at most 4194304");
  try {
    at(q, q.to).problem.problem();
  } catch (const InputError& error) {
    if (q.over != "n" && q.over != "d") throw;
    throw InputError("--to is too large: " + std::string(error.what()));
  }
}

/// A flag that the sweep itself sets, or that it would leave without a meaning.
void check_flags(const CLI::App& verb, const SweepQuestion& q, const SweptAxis& axis) {
  const auto given = [&](const std::string& flag) { return verb.get_option(flag)->count() > 0; };
  if (given(axis.flag))
    throw InputError(axis.flag + " is given, and --over " + q.over +
                     " sets it: leave it out, for --from and --to say what it is");
  const bool sweeps_blocks = q.over == "br" || q.over == "bc";
  for (const std::string flag : {"--br", "--bc", "--sram", "--blocks"})
    if (given(flag) && ((q.over == "m" && flag != "--blocks") ||
                        (sweeps_blocks && (flag == "--sram" || flag == "--blocks"))))
      throw InputError(flag + " is given, and --over " + q.over +
                       (q.over == "m" ? " chooses the blocks for each M" : " gives the blocks") +
                       ": leave it out");
}

}  // namespace

void check_sweep(const CLI::App& verb, const SweepQuestion& question) {
  check_flags(verb, question, axis_of(question.over));
  check_range(question);
}

// ---- the points

namespace {

/// The schedule of an algorithm, whatever of the options it has no use for.
io::Schedule schedule_of(const SweepQuestion& q, const io::Algorithm& algorithm,
                         const AttentionProblem& problem) {
  io::Schedule schedule;
  if (algorithm.takes.splits) schedule.splits = q.schedule.splits;
  if (algorithm.takes.init) schedule.includes_init = q.schedule.includes_init;
  if (!algorithm.takes.blocks) return schedule;
  if (q.schedule.takes_paper_blocks() && q.schedule.sram_bytes) {
    schedule.blocks = clamped(io::paper_blocks(problem, *q.schedule.sram_bytes), problem);
    return schedule;
  }
  ScheduleOptions options = q.schedule;
  options.splits = schedule.splits;
  options.includes_init = schedule.includes_init;
  return options.schedule(algorithm, problem);
}

Measured measure(const SweepQuestion& q, Index value, const io::Algorithm& algorithm) {
  const AttentionProblem problem = q.problem.problem();
  const io::Schedule schedule = schedule_of(q, algorithm, problem);
  io::RunOptions options = {schedule};
  if (algorithm.takes.blocks && !q.schedule.takes_paper_blocks())
    options.sram_bytes = q.schedule.sram_bytes.value_or(io::Sram::unlimited);
  io::Report report = closed_form(algorithm, problem, schedule);
  if (!q.analytic && is_quick(problem, report)) report = run_on_random(algorithm, problem, options);

  const double e = static_cast<double>(bytes_of(problem.dtype()));
  const double a_head = e * static_cast<double>(report.query_heads);
  const io::Shape shape = {static_cast<double>(q.problem.n), static_cast<double>(q.problem.d),
                           static_cast<double>(q.schedule.sram_bytes.value_or(0)) / e};
  const double compulsory = io::compulsory(shape, algorithm.backward);
  const bool bounded = q.schedule.sram_bytes && !algorithm.backward && !q.problem.causal;
  const double bound = bounded ? io::forward_lower_bound(shape) : compulsory;
  return {value, &algorithm, schedule.blocks, report, a_head * compulsory, a_head * bound};
}

bool some_tile_fits(const SweepQuestion& q, const io::Algorithm& algorithm) {
  if (!algorithm.takes.blocks || !q.schedule.sram_bytes || q.schedule.takes_paper_blocks())
    return true;
  return algorithm.footprint(q.problem.problem(), {1, 1}) <= *q.schedule.sram_bytes;
}

}  // namespace

std::vector<Measured> measure_all(const SweepQuestion& q,
                                  const std::vector<const io::Algorithm*>& algorithms) {
  std::vector<Measured> all;
  const Progress progress("counting");
  for (const Index value : values_of(q))
    for (const io::Algorithm* algorithm : algorithms) {
      progress.show(axis_of(q.over).symbol + " = " + std::to_string(value) + ", " +
                    std::string(algorithm->name));
      const SweepQuestion here = at(q, value);
      if (some_tile_fits(here, *algorithm)) all.push_back(measure(here, value, *algorithm));
    }
  if (all.empty())
    refuse("--to", std::to_string(q.to), "no tile fits so small an SRAM; pass a larger one");
  return all;
}

std::optional<io::PowerLaw> slope_of(const std::vector<Measured>& all,
                                     const io::Algorithm& algorithm) {
  std::vector<io::Sample> samples;
  for (const Measured& m : all)
    if (m.algorithm == &algorithm && m.bytes() >= above_compulsory * m.compulsory)
      samples.push_back({static_cast<double>(m.value), m.bytes()});
  return io::longest_power_law(samples, straight);
}

}  // namespace flashbook::sim
