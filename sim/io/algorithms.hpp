#pragma once

#include <span>
#include <string_view>

#include "cpu_reference/implementation.hpp"
#include "sim/io/launch.hpp"
#include "sim/io/mask.hpp"
#include "sim/io/report.hpp"

/// The algorithms by name: the one list that the command line, the tests and the chapters read.
namespace flashbook::io {

/// Tile of S: B_r query rows by B_c keys.
struct Blocks {
  Index rows, columns;

  bool operator==(const Blocks&) const = default;
};

/// Blocks at which the FA2 forward and the three-kernel backward are fastest on a CPU with 1 MB of
/// L2 a core (docs/performance.md).
inline constexpr Blocks default_blocks = {256, 256};

/// The tensors of a run; a forward run reads neither cotangents nor gradients.
struct RunTensors {
  Inputs inputs;
  Outputs outputs;
  Cotangents cotangents;
  Gradients gradients;
};

/// Beyond it every run of a million keys would be a handful.
inline constexpr Index most_splits = 65536;

/// What the counts of a run depend on beside the problem.
struct Schedule {
  Blocks blocks = default_blocks;
  Index splits = 1;  ///< runs that a row's keys are cut into, a worker each: ≤ most_splits
  bool includes_init = false;  ///< whether clearing the outputs beforehand is counted

  bool operator==(const Schedule&) const = default;
};

struct RunOptions : Schedule {
  Index sram_bytes = Sram::unlimited;  ///< of one worker
  /// Every result repeats bit for bit, also where additions would else come in any order.
  bool deterministic = false;
  /// Hears of every move, tile and product, and of the values shown; tasks then run in order.
  Listener* listener = nullptr;
};

/// What is read at every visit of a tile, streaming past what stays: the keys past each row tile,
/// the queries past each key tile, or each in a kernel of its own.
struct Streams {
  bool keys = false;     ///< K and V
  bool queries = false;  ///< Q; backward dO too
  bool o = false;        ///< O, backward
  bool sums = false;     ///< fp32 sums over the keys, of O or dQ: read and written again
};

/// Which fields of a Schedule an algorithm reads; it refuses the others where they are set.
struct Takes {
  bool blocks = false, splits = false, init = false;
};

/// All that is known of an algorithm: to add one is to add a row to the table in algorithms.cpp.
struct Algorithm {
  std::string_view name;
  std::string_view title;  ///< what it is, in a few words
  bool backward;
  Takes takes;
  bool writes_lse;  ///< else outputs.lse is left alone, and may be null
  Streams streams;
  void (*execute)(Machine&, const AttentionProblem&, const RunTensors&, const RunOptions&);
  /// Fills in by formula what a run counts: tensors, visited tiles, executed FLOPs and peak SRAM.
  void (*count)(const AttentionProblem&, const Schedule&, Report&);
  /// Bytes of SRAM that blocks need, in a problem no smaller than they are; null without blocks.
  Index (*footprint)(const AttentionProblem&, const Blocks&);
  /// Adds to sums atomically: in any order, unless RunOptions::deterministic.
  bool atomic_sums = false;
};

std::span<const Algorithm> algorithms();

/// Throws InputError that lists the names.
const Algorithm& find_algorithm(std::string_view name);

/// Throws InputError for fp64, for blocks or splits below 1, and for splits or includes_init that
/// the algorithm does not take. (Blocks have a default, and are ignored where there are none.)
void check_runs(const Algorithm& algorithm, const AttentionProblem& problem,
                const Schedule& schedule);

/// Blocks cut down to the problem: larger ones change nothing.
Blocks clamped(const Blocks& asked, const AttentionProblem& problem);

/// Runs an algorithm on real tensors and reports what its copies counted, which depends on the
/// problem and the options alone. Slack tokens are written, and not counted.
/// Throws InputError for blocks below 1, an SRAM too small, fp64, or an LSE that is null although
/// the algorithm writes it.
Report run(const Algorithm& algorithm, const AttentionProblem& problem, const RunTensors& tensors,
           const RunOptions& options = {});

}  // namespace flashbook::io
