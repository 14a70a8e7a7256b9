#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/power_law.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"

/// What `sim sweep` counts. Everything throws InputError that names the flag.
namespace flashbook::sim {

/// What the user asked for.
struct SweepQuestion {
  std::string over;
  Index from = 0, to = 0;
  std::optional<Index> points;
  std::vector<std::string> algorithms = {"standard_forward", "fa1_forward", "fa2_forward"};
  ProblemOptions problem;
  ScheduleOptions schedule;
  bool analytic = false;
  OutputOptions output;
};

/// What is swept, and the flag it takes the place of.
struct SweptAxis {
  std::string name, flag, symbol;
  std::string label;  ///< with its unit
  std::string (*tick)(double);
};

const SweptAxis& axis_of(const std::string& over);

/// Of the values, and of the flags of `verb` that do not go with the axis.
void check_sweep(const CLI::App& verb, const SweepQuestion& question);

/// One algorithm at one value of the axis.
struct Measured {
  Index value;
  const io::Algorithm* algorithm;
  io::Blocks blocks;
  io::Report report;
  double compulsory;  ///< bytes that move whatever the SRAM
  double bound;       ///< bytes that a dense forward pass moves with the SRAM given, if one is

  double bytes() const { return static_cast<double>(report.bytes_read() + report.bytes_written()); }
};

/// By value, then as the algorithms were named; without those of which no tile fits.
std::vector<Measured> measure_all(const SweepQuestion& question,
                                  const std::vector<const io::Algorithm*>& algorithms);

/// Where the re-reads outweigh what must move at least ten times: FA1's d ≤ M ≤ Nd, Theorem 2.
inline constexpr double above_compulsory = 10;
/// How far from its line a count may lie.
inline constexpr double straight = .05;

/// The power law that an algorithm's bytes follow in that regime; none if they do not.
std::optional<io::PowerLaw> slope_of(const std::vector<Measured>& all,
                                     const io::Algorithm& algorithm);

}  // namespace flashbook::sim
