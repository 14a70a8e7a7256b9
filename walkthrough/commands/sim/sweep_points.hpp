#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/power_law.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/plot.hpp"

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
  Scale scale;
  std::string (*tick)(double);             ///< on the plot's axis
  std::string (*text)(double);             ///< in tables
  void (*set)(SweepQuestion&, Index);      ///< puts a value in the place of the flag
  std::vector<std::string> excluded = {};  ///< other flags that would lose their meaning
};

const SweptAxis& axis_of(const std::string& over);

/// Of the values, and of the flags of `verb` that go neither with the axis nor with an algorithm.
void check_sweep(const CLI::App& verb, const SweepQuestion& question,
                 const std::vector<const io::Algorithm*>& algorithms);

/// One algorithm at one value of the axis.
struct Measured {
  Index value;
  const io::Algorithm* algorithm;
  io::Blocks blocks;
  io::Report report;
  double compulsory;  ///< bytes that move whatever the SRAM
  /// Bytes that no dense forward pass moves fewer of in the SRAM given; of a run that holds no
  /// more.
  std::optional<double> bound;

  double bytes() const { return static_cast<double>(report.bytes_read() + report.bytes_written()); }
};

/// By value, then as the algorithms were named; without those of which no tile fits.
std::vector<Measured> measure_all(const SweepQuestion& question,
                                  const std::vector<const io::Algorithm*>& algorithms);

/// Where what must move anyway is a tenth at most, so that re-reads alone make the law. That is
/// well inside the d ≤ M ≤ Nd of FA1's Theorem 2, at whose end nothing is read again.
inline constexpr double above_compulsory = 10;
/// How far from its line a count may lie.
inline constexpr double straight = .05;

/// The power law that an algorithm's bytes follow there, or why none is stated.
struct Slope {
  std::optional<io::PowerLaw> law;
  std::string why_none;
};

Slope slope_of(const std::vector<Measured>& all, const io::Algorithm& algorithm);

}  // namespace flashbook::sim
