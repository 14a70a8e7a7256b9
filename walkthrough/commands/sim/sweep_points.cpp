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

std::string whole(double value) {
  return std::to_string(std::llround(value));
}

void set_rows(SweepQuestion& q, Index rows) {
  q.schedule.b_r = rows;
  q.schedule.b_c = q.schedule.b_c.value_or(io::default_blocks.columns);
}

void set_keys(SweepQuestion& q, Index keys) {
  q.schedule.b_c = keys;
  q.schedule.b_r = q.schedule.b_r.value_or(io::default_blocks.rows);
}

const std::vector<SweptAxis> axes = {
    {"n", "--n", "N", "tokens N", Scale::log2, short_count, whole,
     [](SweepQuestion& q, Index n) { q.problem.n = n; }},
    {"d", "--d", "d", "head dimension d", Scale::log2, short_count, whole,
     [](SweepQuestion& q, Index d) { q.problem.d = d; }},
    {"m",
     "--sram",
     "M",
     "SRAM M of a worker, bytes",
     Scale::log10,
     short_bytes,
     short_bytes,
     [](SweepQuestion& q, Index bytes) { q.schedule.sram_bytes = bytes; },
     {"--br", "--bc"}},
    {"br",
     "--br",
     "B_r",
     "query rows of a tile, B_r",
     Scale::log2,
     short_count,
     whole,
     set_rows,
     {"--sram", "--blocks"}},
    {"bc",
     "--bc",
     "B_c",
     "keys of a tile, B_c",
     Scale::log2,
     short_count,
     whole,
     set_keys,
     {"--sram", "--blocks"}}};

}  // namespace

const SweptAxis& axis_of(const std::string& over) {
  for (const SweptAxis& axis : axes)
    if (axis.name == over) return axis;
  refuse("--over", over, "pass n, d, m, br or bc");
}

namespace {

/// The question with the axis's value in the place of its flag.
SweepQuestion at(SweepQuestion question, Index value) {
  axis_of(question.over).set(question, value);
  return question;
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
  for (const std::string& flag : axis.excluded)
    if (given(flag))
      throw InputError(flag + " is given, and --over " + q.over +
                       " decides what tiles there are: leave it out");
}

}  // namespace

void check_sweep(const CLI::App& verb, const SweepQuestion& question,
                 const std::vector<const io::Algorithm*>& algorithms) {
  check_flags(verb, question, axis_of(question.over));
  check_range(question);
  at(question, question.to).schedule.check_used(algorithms);
}

// ---- the points

namespace {

/// The paper's blocks too need not fit: it is their traffic that is asked for.
io::Schedule schedule_of(const SweepQuestion& q, const io::Algorithm& algorithm,
                         const AttentionProblem& problem) {
  const ScheduleOptions options = q.schedule.read_by(algorithm);
  if (!options.takes_paper_blocks() || !options.sram_bytes)
    return options.schedule(algorithm, problem);
  return {.blocks = clamped(io::paper_blocks(problem, *options.sram_bytes), problem),
          .splits = options.splits,
          .includes_init = options.includes_init};
}

io::Report count(const SweepQuestion& q, const io::Algorithm& algorithm,
                 const AttentionProblem& problem, const io::Schedule& schedule) {
  const io::Report formula = closed_form(algorithm, problem, schedule);
  if (q.analytic || !is_quick(problem, formula)) return formula;
  io::RunOptions options = {schedule};
  if (algorithm.takes.blocks && !q.schedule.takes_paper_blocks())
    options.sram_bytes = q.schedule.sram_bytes.value_or(io::Sram::unlimited);
  return run_on_random(algorithm, problem, options);
}

Measured measure(const SweepQuestion& q, Index value, const io::Algorithm& algorithm) {
  const AttentionProblem problem = q.problem.problem();
  const io::Schedule schedule = schedule_of(q, algorithm, problem);
  const io::Report report = count(q, algorithm, problem, schedule);
  const Index sram = q.schedule.sram_bytes.value_or(0);
  const double e = static_cast<double>(bytes_of(problem.dtype()));
  const double a_head = e * static_cast<double>(report.query_heads);
  const io::Shape shape = {static_cast<double>(q.problem.n), static_cast<double>(q.problem.d),
                           static_cast<double>(sram) / e};
  std::optional<double> bound;
  if (algorithm.takes.blocks && !algorithm.backward && !q.problem.causal &&
      report.peak_sram_bytes <= sram)
    bound = a_head * io::forward_lower_bound(shape);
  return {value,
          &algorithm,
          schedule.blocks,
          report,
          a_head * io::compulsory(shape, algorithm.backward),
          bound};
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

namespace {

std::string why_none(const std::vector<io::Sample>& samples) {
  const std::string fewest = std::to_string(io::fewest_samples);
  const std::string factor = "a factor of " + short_number(io::shortest_range);
  if (samples.size() < io::fewest_samples)
    return fewest + " points must move so much, not " + std::to_string(samples.size());
  if (samples.back().x < io::shortest_range * samples.front().x)
    return "what moves so much spans less than " + factor;
  return "no " + fewest + " neighbours over " + factor + " on a line";
}

}  // namespace

Slope slope_of(const std::vector<Measured>& all, const io::Algorithm& algorithm) {
  std::vector<io::Sample> samples;
  for (const Measured& m : all)
    if (m.algorithm == &algorithm && m.bytes() >= above_compulsory * m.compulsory)
      samples.push_back({static_cast<double>(m.value), m.bytes()});
  const auto law = io::longest_power_law(samples, straight);
  return {law, law ? "" : why_none(samples)};
}

}  // namespace flashbook::sim
