#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/attend_tensors.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/tensor_files.hpp"

namespace flashbook {
namespace {

struct TourFlags {
  std::string svg = "flashbook-traffic.svg";
  std::string data = FLASHBOOK_DATA;
};

void heading(const std::string& text) {
  std::cout << "\n== " << text << " ==\n\n";
}

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// ---- 1. A 4×4 example ----

/// Four tokens of d = 2. Query 0 scores the keys 3, 5, 10 and 2: the maximum grows on the way.
struct Example {
  std::vector<float> Q = {1, 0, 0, 1, 1, -1, -1, 2}, K = {3, 1, 5, 0, 10, 2, 2, 1};
  std::vector<float> V = {1, 0, 0, 1, 2, 2, -1, 3};
  std::vector<float> O = std::vector<float>(8), lse = std::vector<float>(4);

  AttentionProblem problem() const {
    flashbook_problem p = dense_problem(1, 1, 1, 4, 4, 2, 2);
    p.scale = 1;
    return AttentionProblem(p);
  }
  Inputs inputs() const { return {Q.data(), K.data(), V.data(), nullptr, nullptr, nullptr}; }
  Outputs outputs() { return {O.data(), lse.data()}; }
};

Matrix<double> as_matrix(const std::vector<float>& values, Index columns) {
  const Index rows = static_cast<Index>(values.size()) / columns;
  return Eigen::Map<const Matrix<float>>(values.data(), rows, columns).cast<double>();
}

std::string range_text(const io::Range& range) {
  return std::to_string(range.first) + "–" + std::to_string(range.last - 1);
}

void show_step(const io::TileStep& step) {
  std::cout << "queries " << range_text(step.rows) << ", keys " << range_text(step.keys) << "\n"
            << side_by_side({{"S", step.S.cast<double>()},
                             {"m", step.m.cast<double>()},
                             {"α", step.alpha.cast<double>()},
                             {"P = e^(S−m)", step.P.cast<double>()},
                             {"ℓ", step.l.cast<double>()},
                             {"O, not yet /ℓ", step.O.cast<double>()}})
            << "\n";
}

/// The correction at work on query 0, in the run's own numbers.
void show_correction(const std::vector<io::TileStep>& steps) {
  const io::TileStep &before = steps.at(0), &after = steps.at(1);
  const float s = before.S(0, 0), m_old = before.m(0), m_new = after.m(0);
  std::cout << "Query 0: key 0 weighed e^(" << s << "−" << m_old
            << ") = " << fixed(before.P(0, 0), 3) << ". Then key 2 raised the maximum to " << m_new
            << ",\nso all that was summed is multiplied by α = e^(" << m_old << "−" << m_new
            << ") = " << fixed(after.alpha(0), 4) << ": key 0 weighs "
            << fixed(before.P(0, 0) * after.alpha(0), 4) << " = e^(" << s << "−" << m_new
            << ") now,\nas if the maximum had been known from the start.\n\n";
}

void step_example() {
  heading("1. Attention on 4 tokens, stepped in tiles of 2 × 2");
  Example example;
  std::cout << side_by_side({{"Q", as_matrix(example.Q, 2)},
                             {"K", as_matrix(example.K, 2)},
                             {"V", as_matrix(example.V, 2)}},
                            0)
            << "\nS = QKᵀ (scale 1). S, m, α, P and ℓ never leave the fast memory.\n\n";
  std::vector<io::TileStep> steps;
  io::RunOptions options;
  options.blocks = {2, 2};
  options.observer = [&](const io::TileStep& step) {
    show_step(step);
    steps.push_back(step);
  };
  const io::Algorithm& fa2 = io::find_algorithm("fa2_forward");
  const AttentionProblem problem = example.problem();
  const io::Report report =
      io::run(fa2, problem, {example.inputs(), example.outputs(), {}, {}}, options);
  show_correction(steps);

  Example exact;
  implementations().front()->forward(problem, exact.inputs(), exact.outputs());
  const Matrix<double> O = as_matrix(example.O, 2), O_exact = as_matrix(exact.O, 2);
  std::cout << side_by_side({{"O = O/ℓ", O},
                             {"LSE = m + ln ℓ", as_matrix(example.lse, 1)},
                             {"oracle's O", O_exact}})
            << "\nMoved: " << report.matrix_reads() << " elements read, " << report.matrix_writes()
            << " written, and " << report.vector_writes()
            << " of LSE. Largest difference to the oracle: " << (O - O_exact).cwiseAbs().maxCoeff()
            << "\n";
}

// ---- 2. Traffic ----

constexpr Index head_dimension = 64, most_executed = 4096, sram_bytes = 164 * 1024;

AttentionProblem square_problem(Index n) {
  flashbook_problem p = dense_problem(1, 1, 1, n, n, head_dimension, head_dimension);
  p.dtype = FLASHBOOK_FP16;
  return AttentionProblem(p);
}

/// Runs a forward pass on arbitrary finite tensors: counts do not depend on them.
io::Report execute(const io::Algorithm& algorithm, const AttentionProblem& problem,
                   const io::Blocks& blocks) {
  const std::int64_t n = problem->n_q;
  const Tensor x = make_tensor({n, head_dimension}, 2);
  Tensor o = x, lse = make_tensor({n}, 4);
  const Inputs inputs = {x.data(), x.data(), x.data(), nullptr, nullptr, nullptr};
  io::RunOptions options;
  if (algorithm.takes_blocks) {
    options.blocks = blocks;
    options.sram_bytes = sram_bytes;
  }
  return io::run(algorithm, problem, {inputs, {o.data(), lse.data()}, {}, {}}, options);
}

double bytes_moved(const io::Report& report) {
  return static_cast<double>(report.bytes_read() + report.bytes_written());
}

io::Report count(const std::string& name, Index n, const io::Blocks& blocks) {
  const io::Algorithm& algorithm = io::find_algorithm(name);
  const AttentionProblem problem = square_problem(n);
  return n <= most_executed ? execute(algorithm, problem, blocks)
                            : io::closed_form(algorithm, problem, blocks);
}

/// Before the work begins: whether the picture will find its place.
void require_writable(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (file.filename().empty() || std::filesystem::is_directory(file) ||
      ::access(folder.c_str(), W_OK) != 0)
    throw InputError("--svg '" + file.string() +
                     "' cannot be written: pass a file in a folder you may write to");
}

void count_traffic(const std::string& svg_file) {
  heading("2. Bytes between slow and fast memory, N = 1k … 64k");
  Plot plot = {"Memory traffic of attention, one head", "tokens N", "bytes moved", {}};
  plot.series = {{"standard", {}}, {"flash (FA2)", {}}, {"lower bound", {}}};
  std::vector<std::vector<std::string>> rows = {
      {"N", "standard", "flash", "B_r × B_c", "lower bound", "standard/flash", "counted by"}};
  const Progress progress("counting");
  for (Index n = 1024; n <= 65536; n *= 2) {
    progress.show(short_count(static_cast<double>(n)) + " tokens");
    const io::Blocks blocks =
        io::best_blocks(io::find_algorithm("fa2_forward"), square_problem(n), sram_bytes);
    const io::Report standard = count("standard_forward", n, blocks);
    const io::Report flash = count("fa2_forward", n, blocks);
    const double x = static_cast<double>(n);
    const double bound = 2 * io::forward_lower_bound({x, head_dimension, sram_bytes / 2.0});
    plot.series[0].points.push_back({x, bytes_moved(standard), standard.executed});
    plot.series[1].points.push_back({x, bytes_moved(flash), flash.executed});
    plot.series[2].points.push_back({x, bound, false});
    rows.push_back({short_count(x), short_bytes(bytes_moved(standard)),
                    short_bytes(bytes_moved(flash)),
                    std::to_string(blocks.rows) + " × " + std::to_string(blocks.columns),
                    short_bytes(bound), fixed(bytes_moved(standard) / bytes_moved(flash), 1),
                    flash.executed ? "running it" : "closed form"});
  }
  progress.clear();
  std::cout << "Forward, d = " << head_dimension << ", fp16, " << sram_bytes / 1024
            << " KiB of fast memory (an A100's SM).\n\n"
            << table(rows) << "\n"
            << in_characters(plot) << "\n";
  std::ofstream(svg_file) << svg(plot);
  std::cout << "The same as a picture: " << svg_file << "\n";
}

// ---- 3. Real tensors ----

struct RealLayer {
  std::string name;
  AttendTensors tensors;
};

RealLayer load_layer(const std::filesystem::path& folder, const std::string& layer,
                     const std::string& dtype) {
  AttendRequest request;
  const auto file = [&](const char* which) {
    return (folder / ("minilm_" + layer + "_" + which + ".npy")).string();
  };
  request.q = file("q");
  request.k = file("k");
  request.v = file("v");
  request.dtype = dtype;
  try {
    return {layer + " " + dtype, load_tensors(request)};
  } catch (const InputError& error) {
    throw InputError("--data '" + folder.string() +
                     "' does not hold the tour's tensors: " + error.what());
  }
}

double largest(const conformance::Margins& margins) {
  return std::max({margins.gate1, margins.gate2.value_or(0), margins.gate3.value_or(0)});
}

std::vector<std::string> margin_row(const conformance::CaseReport& report) {
  std::vector<std::string> row = {report.implementation};
  for (const auto output :
       {conformance::Output::O, conformance::Output::LSE, conformance::Output::dQ,
        conformance::Output::dK, conformance::Output::dV}) {
    std::string cell = "–";
    for (const conformance::OutputReport& each : report.outputs)
      if (each.output == output) cell = fixed(largest(each.margins), 2);
    row.push_back(cell);
  }
  row.push_back(std::string(conformance::name(report.status)));
  return row;
}

/// Returns whether every implementation passed.
bool verify_layer(const RealLayer& layer, const Progress& progress) {
  std::vector<std::vector<std::string>> rows = {{layer.name, "O", "LSE", "dQ", "dK", "dV", ""}};
  conformance::Exercise exercise(layer.name, layer.tensors.problem, layer.tensors.inputs(), 1);
  bool passed = true;
  for (const auto& implementation : implementations()) {
    progress.show(layer.name + ", " + implementation->name());
    const conformance::CaseReport report = exercise.verify(*implementation);
    rows.push_back(margin_row(report));
    for (const std::string& reason : report.reasons) rows.back().back() += " (" + reason + ")";
    passed = passed && report.status != conformance::Status::failed;
  }
  progress.clear();
  std::cout << table(rows) << "\n";
  return passed;
}

std::vector<RealLayer> load_layers(const std::filesystem::path& folder) {
  std::vector<RealLayer> layers;
  for (const char* dtype : {"fp16", "bf16", "fp32"})
    for (const char* layer : {"layer0", "layer5"})
      layers.push_back(load_layer(folder, layer, dtype));
  return layers;
}

bool verify_real_tensors(const std::vector<RealLayer>& layers) {
  heading("3. Every implementation on the tensors of a real transformer");
  std::cout
      << "Q, K, V of MiniLM (12 heads, d = 32) reading the first page of Moby-Dick; dO random.\n"
         "Shown: the largest error as a fraction of what three gates allow. Below 1 passes.\n\n";
  const Progress progress("verifying");
  bool passed = true;
  for (const RealLayer& layer : layers) passed = verify_layer(layer, progress) && passed;
  std::cout << (passed ? "All of them agree with the oracle.\n"
                       : "NOT all of them agree with the oracle.\n");
  return passed;
}

void what_next() {
  heading("What to run next");
  std::cout <<
      R"(  ./book list                      what each implementation takes
  ./book verify                    the whole suite: every option, alone and in pairs
  ./book sim traffic --algorithm fa2_forward --n 4096 --d 64 --sram 164000
  ./book attend --q q.npy --k k.npy --v v.npy --out result    your own tensors
)";
}

void tour(const TourFlags& flags) {
  require_writable(flags.svg);
  const std::vector<RealLayer> layers = load_layers(flags.data);
  step_example();
  count_traffic(flags.svg);
  const bool passed = verify_real_tensors(layers);
  what_next();
  if (!passed) throw CLI::RuntimeError(1);
}

}  // namespace

void add_tour(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("tour", "attention stepped, counted, bounded and verified");
  auto flags = std::make_shared<TourFlags>();
  verb->add_option("--svg", flags->svg, "where the traffic plot goes")->capture_default_str();
  verb->add_option("--data", flags->data, "folder of minilm_layer*_*.npy")->capture_default_str();
  verb->callback([flags] { tour(*flags); });
}

}  // namespace flashbook
