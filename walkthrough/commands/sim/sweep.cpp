#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/commands/sim/sweep_points.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/plot.hpp"

namespace flashbook {
namespace {

using namespace sim;
using Algorithms = std::vector<const io::Algorithm*>;
using Json = nlohmann::ordered_json;

const Measured* find(const std::vector<Measured>& all, Index value, const io::Algorithm& a) {
  for (const Measured& m : all)
    if (m.value == value && m.algorithm == &a) return &m;
  return nullptr;
}

std::vector<Index> values_in(const std::vector<Measured>& all) {
  std::vector<Index> values;
  for (const Measured& m : all)
    if (values.empty() || m.value != values.back()) values.push_back(m.value);
  return values;
}

// ---- for people

/// A value a row, an algorithm a column; of up to two algorithms also the tiles.
std::string table_of(const SweepQuestion& q, const Algorithms& algorithms,
                     const std::vector<Measured>& all) {
  const auto cells = [&](auto&& first, auto&& cell, auto&& tile_cell) {
    std::vector<std::string> row = {first};
    for (const io::Algorithm* a : algorithms) {
      row.push_back(cell(*a));
      if (algorithms.size() <= 2 && a->takes.blocks) row.push_back(tile_cell(*a));
    }
    return row;
  };
  std::vector<std::vector<std::string>> rows = {cells(
      axis_of(q.over).symbol, [](const io::Algorithm& a) { return std::string(a.name); },
      [](const io::Algorithm&) { return std::string("B_r × B_c"); })};
  for (const Index value : values_in(all)) {
    const auto bytes = [&](const io::Algorithm& a) -> std::string {
      const Measured* m = find(all, value, a);
      if (m == nullptr) return "no tile fits  ";
      return short_bytes(m->bytes()) + (m->report.executed ? " *" : "  ");
    };
    const auto blocks = [&](const io::Algorithm& a) -> std::string {
      const Measured* m = find(all, value, a);
      return m == nullptr ? "" : text_of(m->blocks);
    };
    rows.push_back(cells(axis_of(q.over).text(static_cast<double>(value)), bytes, blocks));
  }
  return table(rows);
}

std::string slope_in_words(const SweptAxis& axis, const Slope& slope) {
  const auto& law = slope.law;
  if (!law) return "none: " + slope.why_none;
  return "∝ " + axis.symbol + "^" + fixed(law->exponent, 2) + "  " + axis.text(law->first) + " … " +
         axis.text(law->last) + ", " + std::to_string(law->samples) + " points within " +
         percent(law->residual);
}

std::string setting(const SweepQuestion& q) {
  std::string text = "Bytes moved between HBM and SRAM, " + q.problem.text(q.over);
  if (q.schedule.sram_bytes) text += ", M = " + short_bytes(*q.schedule.sram_bytes);
  return text;
}

/// Where a run of those counted is bounded.
Series bound_of(const std::vector<Measured>& all) {
  Series bound = {"lower bound", {}};
  for (const Measured& m : all)
    if (m.bound && (bound.points.empty() || bound.points.back().x < static_cast<double>(m.value)))
      bound.points.push_back({static_cast<double>(m.value), *m.bound, false});
  return bound;
}

Plot plot_of(const SweepQuestion& q, const Algorithms& algorithms,
             const std::vector<Measured>& all) {
  const SweptAxis& axis = axis_of(q.over);
  Plot plot = {setting(q),
               {axis.label, axis.scale, axis.tick},
               {"bytes moved", Scale::log10, short_bytes},
               {}};
  for (const io::Algorithm* a : algorithms) {
    Series series = {std::string(a->name), {}};
    for (const Measured& m : all)
      if (m.algorithm == a)
        series.points.push_back({static_cast<double>(m.value), m.bytes(), m.report.executed});
    if (!series.points.empty()) plot.series.push_back(series);
  }
  plot.series.push_back(bound_of(all));
  if (plot.series.back().points.empty()) plot.series.pop_back();
  return plot;
}

void print(const SweepQuestion& q, const Algorithms& algorithms, const std::vector<Measured>& all,
           const Plot& plot) {
  std::cout << setting(q) << ".\n\n" << table_of(q, algorithms, all) << "\n  * executed";
  std::cout << (q.analytic ? " (none: --analytic)" : "") << "; the others from closed forms\n";
  if (q.schedule.takes_paper_blocks())
    std::cout << "  the paper's blocks, whether or not they fit M: 'sim blocks' says\n";
  std::cout << "\nSlopes, where at least " << above_compulsory
            << " times the bytes move that must:\n\n";
  for (const io::Algorithm* a : algorithms)
    std::cout << "  " << a->name << std::string(22 - std::min<std::size_t>(22, a->name.size()), ' ')
              << slope_in_words(axis_of(q.over), slope_of(all, *a)) << "\n";
  std::cout << "\n" << in_characters(plot);
}

// ---- for programs

Records records_of(const std::vector<Measured>& all) {
  Records records = {{"value", "algorithm", "source", "br", "bc", "bytes_read", "bytes_written",
                      "peak_sram_bytes", "compulsory_bytes", "bound_bytes"},
                     {}};
  for (const Measured& m : all) {
    const bool blocks = m.algorithm->takes.blocks;
    records.rows.push_back(
        {m.value, m.algorithm->name, source_of(m.report), blocks ? Json(m.blocks.rows) : Json(),
         blocks ? Json(m.blocks.columns) : Json(), m.report.bytes_read(), m.report.bytes_written(),
         m.report.peak_sram_bytes, m.compulsory, m.bound ? Json(*m.bound) : Json()});
  }
  return records;
}

Records slopes_of(const Algorithms& algorithms, const std::vector<Measured>& all) {
  Records records = {
      {"algorithm", "exponent", "coefficient", "residual", "first", "last", "points", "why_none"},
      {}};
  for (const io::Algorithm* a : algorithms) {
    const auto& [law, why_none] = slope_of(all, *a);
    if (law)
      records.rows.push_back({a->name,
                              law->exponent,
                              law->coefficient,
                              law->residual,
                              law->first,
                              law->last,
                              law->samples,
                              {}});
    else
      records.rows.push_back({a->name, {}, {}, {}, {}, {}, {}, why_none});
  }
  return records;
}

void sweep(const CLI::App& verb, const SweepQuestion& q) {
  const Algorithms algorithms = algorithms_called(q.algorithms);
  check_sweep(verb, q, algorithms);
  q.output.check();
  const std::vector<Measured> all = measure_all(q, algorithms);
  const Records records = records_of(all);
  const Plot plot = plot_of(q, algorithms, all);
  q.output.write(records, svg(plot));
  if (!q.output.json) return print(q, algorithms, all, plot);
  const Json out = {{"over", q.over},
                    {"n", q.over == "n" ? Json() : Json(q.problem.n)},
                    {"d", q.over == "d" ? Json() : Json(q.problem.d)},
                    {"dtype", q.problem.dtype},
                    {"causal", q.problem.causal},
                    {"rows", as_json(records)},
                    {"slopes", as_json(slopes_of(algorithms, all))}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_sweep(CLI::App& sim) {
  CLI::App* verb =
      sim.add_subcommand("sweep", "how traffic grows along one axis, and the power law it follows");
  const auto q = std::make_shared<SweepQuestion>();
  verb->add_option("--over", q->over,
                   "n (tokens), d (head dimension), m (bytes of SRAM, the best blocks for each), "
                   "br or bc (query rows or keys of a tile)")
      ->required();
  verb->add_option("--from", q->from, "least value")->required();
  verb->add_option("--to", q->to, "greatest value")->required();
  verb->add_option("--points", q->points,
                   "2 to 200, evenly on a logarithmic axis (default: one to "
                   "each doubling)");
  verb->add_option("--algorithm", q->algorithms, "up to seven, with commas: " + algorithm_names())
      ->delimiter(',')
      ->capture_default_str();
  q->problem.add_to(*verb, false);
  q->schedule.add_to(*verb);
  verb->add_flag("--analytic", q->analytic,
                 "all from closed forms (else what takes a tenth of a second is executed)");
  q->output.add_to(*verb);
  verb->callback([verb, q] { sweep(*verb, *q); });
}

}  // namespace flashbook
