#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/tilings.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/progress.hpp"

namespace flashbook {
namespace {

using namespace sim;
using Json = nlohmann::ordered_json;

/// At M = 64d², the last size of SRAM shown, fp32 elements are then 2^50 bytes: the most --sram
/// takes.
constexpr Index most_channels = Index{1} << 21;

/// `sim bound`: what the user asked for.
struct Question {
  Index n = Index{1} << 20, d = 64;
  std::string dtype = "fp32";
  OutputOptions output;

  io::Shape shape(Index m) const {
    return {static_cast<double>(n), static_cast<double>(d), static_cast<double>(m)};
  }
  bool is_16_bit() const { return dtype_of(dtype) != DType::fp32; }
  double in_d2(Index m) const { return static_cast<double>(m) / static_cast<double>(d * d); }
  double in_n2(double elements) const {
    return elements / (static_cast<double>(n) * static_cast<double>(n));
  }
};

/// Two to each doubling of M, from d²/16 to 64 d².
std::vector<Index> sram_sizes(const Question& q) {
  std::vector<Index> sizes;
  for (int half = -8; half <= 12; ++half) {
    const Index m = std::llround(std::exp2(half / 2.) * static_cast<double>(q.d * q.d));
    if (m > 0 && (sizes.empty() || m > sizes.back())) sizes.push_back(m);
  }
  return sizes;
}

/// One curve: elements a head at each M, NaN where no tile fits.
struct Curve {
  std::string name, key, heading;  ///< in the plot, in records, in the table
  std::vector<double> elements = {};
};

/// `algorithm` with the best blocks for each M.
Curve tiled(const Question& q, Curve curve, const char* algorithm, DType dtype = DType::fp32) {
  for (const Index m : sram_sizes(q)) {
    const auto best = io::best_tiling(io::find_algorithm(algorithm), q.n, q.d, m, dtype);
    curve.elements.push_back(best ? static_cast<double>(best->elements) : std::nan(""));
  }
  return curve;
}

Curve formula(const Question& q, Curve curve, double (*elements)(const io::Shape&)) {
  for (const Index m : sram_sizes(q)) {
    const double moved = elements(q.shape(m));
    curve.elements.push_back(std::isfinite(moved) ? moved : std::nan(""));
  }
  return curve;
}

Curve in_16_bits(const Question& q, const std::string& algorithm, const char* heading) {
  return tiled(q, {algorithm + ", " + q.dtype, algorithm + "_16bit", heading}, algorithm.c_str(),
               dtype_of(q.dtype));
}

std::vector<Curve> curves_of(const Question& q) {
  std::vector<Curve> curves = {
      formula(q, {"lower bound", "lower_bound", "bound"}, io::forward_lower_bound),
      formula(q, {"square tiling", "square_tiling", "square"}, io::square_tiling),
      tiled(q, {"fa1_forward", "fa1_forward", "FA1"}, "fa1_forward"),
      tiled(q, {"fa2_forward", "fa2_forward", "FA2"}, "fa2_forward"),
      formula(q, {"backward order", "backward_order", "bwd."}, io::optimal_backward_order),
      tiled(q, {"three_kernel_backward", "three_kernel_backward", "3 ker."},
            "three_kernel_backward")};
  if (!q.is_16_bit()) return curves;
  curves.push_back(in_16_bits(q, "fa1_forward", "FA1 *"));
  curves.push_back(in_16_bits(q, "fa2_forward", "FA2 *"));
  return curves;
}

// ---- where curves cross

/// A statement, and the number from which it holds.
struct Crossing {
  std::string statement, key;
  std::optional<io::Turn> turn;
};

std::vector<Crossing> crossings_of(const Question& q) {
  std::vector<Crossing> found;
  for (const char* name : {"fa2_forward", "fa1_forward"}) {
    const io::Algorithm& a = io::find_algorithm(name);
    found.push_back({std::string(name) + " < square tiling", std::string(name) + "_square_tiling",
                     io::crosses_square_tiling(a, q.n, q.d, io::square_tiling)});
    found.push_back({std::string(name) + " < it if B | d",
                     std::string(name) + "_square_tiling_undivided",
                     io::crosses_square_tiling(a, q.n, q.d, io::square_tiling_undivided)});
  }
  return found;
}

std::string crossings_in_words(const Question& q, const std::vector<Crossing>& crossings) {
  std::vector<std::vector<std::string>> rows = {
      {"moves fewer elements", "first at M/d²", "always from", "M there"}};
  for (const auto& [statement, key, turn] : crossings) {
    if (turn)
      rows.push_back({statement, short_number(q.in_d2(turn->first)),
                      short_number(q.in_d2(turn->always)), std::to_string(turn->always)});
    else
      rows.push_back({statement, "–", "–", "–"});
  }
  return table(rows);
}

std::string against_standard(const Question& q) {
  std::string text;
  const auto line = [&](const char* name, const std::string& block, double edge) {
    const io::Algorithm& algorithm = io::find_algorithm(name);
    const auto turn = io::beats_standard(algorithm, q.n, q.d);
    const std::string least = block + " = " + std::to_string(turn ? turn->always : 1);
    const std::string most = block + " = " + std::to_string(std::min(q.n, 4 * q.d));
    text += std::string("  ") + name;
    if (turn)
      text += " moves less than standard_forward from " + least + " on";
    else if (io::moves_less_than_standard(algorithm, q.n, q.d, 1))
      text += " moves less than standard_forward with " + least + " already";
    else
      text += " moves no less than standard_forward even with " + most;
    text += "\n    (for large N above " + short_number(edge) + ")\n";
  };
  line("fa1_forward", "B_c", .75 * static_cast<double>(q.d));
  line("fa2_forward", "B_r", .5 * static_cast<double>(q.d));
  return text;
}

/// In units of N²d²/M, which is what the analysis has constants for.
std::string coefficients(const Question& q) {
  const Index m = 4 * q.d * q.d;
  const AttentionProblem problem = ProblemOptions{q.n, q.d}.problem();
  const io::Blocks paper = io::paper_blocks(problem, m * bytes_of(problem.dtype()));
  const auto in_units = [&](double elements) {
    return short_number(elements / io::flash_order(q.shape(m)));
  };
  const auto moved = [&](const char* name, const io::Blocks& blocks) {
    return in_units(
        static_cast<double>(io::elements_moved(io::find_algorithm(name), q.n, q.d, blocks)));
  };
  const auto best = [&](const char* name) {
    const auto tiling = io::best_tiling(io::find_algorithm(name), q.n, q.d, m);
    return tiling ? in_units(static_cast<double>(tiling->elements)) : "–";
  };
  return "\n  In units of N²d²/M, at M = 4d²: FA1 moves " + moved("fa1_forward", paper) +
         " with the paper's blocks,\n  " + best("fa1_forward") + " with the best; FA2 " +
         best("fa2_forward") + "; the bound is " + in_units(io::forward_lower_bound(q.shape(m))) +
         "\n";
}

// ---- the answer

std::string elements_tick(double value) {
  return value >= 1 && value < 1e6 ? std::to_string(std::llround(value)) : short_number(value);
}

std::string table_of(const Question& q, const std::vector<Curve>& curves) {
  std::vector<std::vector<std::string>> rows = {{"M/d²", "M"}};
  const std::vector<Index> sizes = sram_sizes(q);
  for (const Curve& curve : curves) rows[0].push_back(curve.heading);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    rows.push_back({short_number(q.in_d2(sizes[i])), std::to_string(sizes[i])});
    for (const Curve& curve : curves)
      rows.back().push_back(short_number(q.in_n2(curve.elements[i])));
  }
  return table(rows);
}

Plot plot_of(const Question& q, const std::vector<Curve>& curves) {
  Plot plot = {"What attention must move and does, one head, N = " + std::to_string(q.n) +
                   ", d = " + std::to_string(q.d),
               {"SRAM M / d², elements", Scale::log2, short_number},
               {"elements moved / N²", Scale::log10, elements_tick},
               {}};
  const std::vector<Index> sizes = sram_sizes(q);
  for (const Curve& curve : curves) {
    if (curve.key == "backward_order" || curve.key == "three_kernel_backward") continue;
    Series series = {curve.name, {}};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (!std::isnan(curve.elements[i]))
        series.points.push_back({q.in_d2(sizes[i]), q.in_n2(curve.elements[i]), false});
    if (!series.points.empty()) plot.series.push_back(series);
  }
  return plot;
}

void print(const Question& q, const std::vector<Curve>& curves,
           const std::vector<Crossing>& crossings, const Plot& plot) {
  std::cout
      << "Elements that one dense head moves, in units of N² = " << q.n << "²; d = " << q.d
      << ",\nM elements of SRAM, FA1 and FA2 with the best blocks for each M; exact counts\n"
         "in fp32, where tiles of S, m and ℓ have elements of the others' size"
      << (q.is_16_bit() ? ",\nand (*) in " + q.dtype + ", where they have 4 bytes" : "") << ".\n\n"
      << table_of(q, curves) << R"(
  bound       max(4Nd, N²d²/(M + 4d²) − M), which no forward pass can beat
  square      both products in B × B tiles, B = ⌊√(M/4)⌋, S and P through HBM
  bwd.        min((N²d² + Nd³)/M, (N²d + Nd²)/√M): how the backward optimum
              grows, without its constant; both branches are equal at M = d²
  3 ker.      three_kernel_backward with the best blocks for each M
)"
      << "\nThe forward optimum is min(N²d/√M, N²d²/M): at M = d² both are N². Of exact\n"
         "counts, as M grows:\n\n"
      << crossings_in_words(q, crossings)
      << "\n  it if B | d: no count, but 3N² + 4N²d/B + Nd, square tiling as if B divided d\n\n"
      << against_standard(q) << coefficients(q) << "\n"
      << in_characters(plot);
}

Records records_of(const Question& q, const std::vector<Curve>& curves) {
  Records records = {{"m", "m_over_d2", "source"}, {}};
  for (const Curve& curve : curves) records.columns.push_back(curve.key);
  const std::vector<Index> sizes = sram_sizes(q);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    records.rows.push_back({sizes[i], q.in_d2(sizes[i]), "closed form"});
    for (const Curve& curve : curves)
      records.rows.back().push_back(std::isnan(curve.elements[i]) ? Json()
                                                                  : Json(curve.elements[i]));
  }
  return records;
}

Json crossings_json(const Question& q, const std::vector<Crossing>& crossings) {
  Json out = Json::object();
  for (const auto& [statement, key, turn] : crossings)
    out[key] = turn ? Json{{"first_m", turn->first},
                           {"always_m", turn->always},
                           {"first_m_over_d2", q.in_d2(turn->first)},
                           {"always_m_over_d2", q.in_d2(turn->always)}}
                    : Json();
  return out;
}

void bound(const Question& q) {
  if (q.d > most_channels)
    refuse("--d", std::to_string(q.d), "pass at most " + std::to_string(most_channels));
  ProblemOptions{q.n, q.d}.problem();  // its checks
  dtype_of(q.dtype);
  q.output.check();
  const Progress progress("counting");
  progress.show("at " + std::to_string(sram_sizes(q).size()) + " sizes of SRAM");
  const std::vector<Curve> curves = curves_of(q);
  progress.show("where they cross");
  const std::vector<Crossing> crossings = crossings_of(q);
  progress.clear();
  const Records records = records_of(q, curves);
  const Plot plot = plot_of(q, curves);
  q.output.write(records, svg(plot));
  if (!q.output.json) return print(q, curves, crossings, plot);
  const Json out = {{"n", q.n},
                    {"d", q.d},
                    {"dtype", q.dtype},
                    {"rows", as_json(records)},
                    {"crossings", crossings_json(q, crossings)}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_bound(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "bound", "what any forward pass must move, beside what each way of tiling does move");
  const auto q = std::make_shared<Question>();
  verb->add_option("--n", q->n, "tokens: N_q = N_k = N")->capture_default_str();
  verb->add_option("--d", q->d, "head dimension")->capture_default_str();
  verb->add_option("--dtype", q->dtype,
                   "fp32: all tiles have elements of one size; fp16 or bf16: beside them, counts "
                   "with 16-bit tensors, of which S and sums keep 4 bytes an element")
      ->capture_default_str();
  q->output.add_to(*verb);
  verb->callback([q] { bound(*q); });
}

}  // namespace flashbook
