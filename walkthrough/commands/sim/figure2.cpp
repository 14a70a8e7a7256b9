#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/eager.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;
using Json = nlohmann::ordered_json;

/// What the paper measured: GPT-2 medium's attention, 64 sequences, on an A100.
constexpr Index N = 1024, d = 64, H = 16, B = 64, heads = B * H;
constexpr Index element_bytes = 2;      // fp16, whatever a run holds its partial sums in
constexpr Index sram_elements = 65536;  // M, such that B_c = M/4d = 256

/// A row of the figure. A number is absent where the paper has none.
struct Row {
  std::string panel, name;
  Json tensor, b_c;
  std::string source;
  Index bytes_read, bytes_written;
  std::optional<double> paper_bytes = std::nullopt, paper_ms = std::nullopt;

  Index bytes() const { return bytes_read + bytes_written; }
};

std::string shape_in_words() {
  return ProblemOptions{N, d, B, H, "fp16"}.text();
}

AttentionProblem gpt2_medium() {
  flashbook_problem p = dense_problem(B, H, H, N, N, d, d);
  p.dtype = FLASHBOOK_FP16;
  return AttentionProblem(p);
}

// ---- counting

/// Adds what a run of one head moves, for all heads: elements of matrices at 2 bytes, no vectors.
void add_run(const char* algorithm, const io::Blocks& blocks, const Progress& progress, Row& row) {
  progress.show(algorithm);
  const io::Report report = run_one_head(io::find_algorithm(algorithm), gpt2_medium(), {{blocks}});
  row.source = "executed";
  row.bytes_read += element_bytes * report.matrix_reads();
  row.bytes_written += element_bytes * report.matrix_writes();
}

Row eager_row() {
  Row row = {"left", "eager framework", {}, {}, "listed", 0, 0, 40.3e9, 41.7};
  for (const io::EagerPass& pass : io::eager_passes()) {
    row.bytes_read += heads * pass.bytes_read(N, d);
    row.bytes_written += heads * pass.bytes_written(N, d);
  }
  return row;
}

io::Blocks paper_blocks() {
  return io::paper_blocks(gpt2_medium(), element_bytes * sram_elements);
}

void add_left_panel(const Progress& progress, std::vector<Row>& rows) {
  const io::Blocks blocks = paper_blocks();
  Row standard = {"left", "standard (Alg. 0, 3)", {}, {}, "", 0, 0};
  add_run("standard_forward", blocks, progress, standard);
  add_run("standard_backward", blocks, progress, standard);
  Row flash = {"left", "flash", {}, blocks.columns, "", 0, 0, 4.4e9, 7.3};
  add_run("fa1_forward_shipped", blocks, progress, flash);
  add_run("fa1_backward_shipped", blocks, progress, flash);
  rows.insert(rows.end(), {standard, eager_row(), flash});
}

void add_passes(std::vector<Row>& rows) {
  for (const io::EagerPass& pass : io::eager_passes())
    for (const io::EagerTensor& tensor : pass.tensors) {
      const Index bytes = heads * tensor.bytes(N, d);
      rows.push_back({"passes",
                      std::string(pass.name),
                      tensor.name,
                      {},
                      "listed",
                      tensor.written ? 0 : bytes,
                      tensor.written ? bytes : 0});
    }
}

/// Forward, B_c swept; what others read off the paper's figure beside it.
void add_middle_panel(const Progress& progress, std::vector<Row>& rows) {
  for (const Index B_c : {64, 128, 256, 512}) {
    Row row = {"middle", "flash forward", {}, B_c, "", 0, 0};
    if (B_c == 128) row.paper_bytes = 3.4e9;
    if (B_c == 256) row.paper_bytes = 1.7e9;
    add_run("fa1_forward_shipped", {std::min(B_c, d), B_c}, progress, row);
    rows.push_back(row);
  }
}

std::vector<Row> count_all() {
  const Progress progress("counting");
  std::vector<Row> rows;
  add_left_panel(progress, rows);
  add_passes(rows);
  add_middle_panel(progress, rows);
  return rows;
}

// ---- for programs

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Records records_of(const std::vector<Row>& rows) {
  Records records = {{"panel", "name", "tensor", "b_c", "source", "bytes_read", "bytes_written",
                      "bytes", "paper_bytes", "paper_ms"},
                     {}};
  for (const Row& row : rows)
    records.rows.push_back({row.panel, row.name, row.tensor, row.b_c, row.source, row.bytes_read,
                            row.bytes_written, row.bytes(), number(row.paper_bytes),
                            number(row.paper_ms)});
  return records;
}

// ---- for people

std::string paper(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "–";
}

std::string left_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"forward + backward", "ours", "by", "paper", "paper's ms"}};
  for (const Row& row : rows)
    if (row.panel == "left")
      cells.push_back({row.name, short_bytes(row.bytes()), row.source,
                       paper(row.paper_bytes, short_bytes), paper(row.paper_ms, short_number)});
  return table(cells);
}

std::string middle_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {{"block size B_c", "ours", "by", "read off"}};
  for (const Row& row : rows)
    if (row.panel == "middle")
      cells.push_back({row.b_c.dump(), short_bytes(row.bytes()), row.source,
                       paper(row.paper_bytes, short_bytes)});
  return table(cells);
}

/// The names of a pass's tensors that go one way.
std::string tensors(const io::EagerPass& pass, bool written) {
  std::string names;
  for (const io::EagerTensor& tensor : pass.tensors)
    if (tensor.written == written) names += (names.empty() ? "" : ", ") + std::string(tensor.name);
  return names;
}

std::string passes_table() {
  std::vector<std::vector<std::string>> cells = {{"pass", "formula", "reads", "writes", "bytes"}};
  for (const io::EagerPass& pass : io::eager_passes()) {
    const Index bytes = heads * (pass.bytes_read(N, d) + pass.bytes_written(N, d));
    cells.push_back({std::string(pass.name), std::string(pass.formula), tensors(pass, false),
                     tensors(pass, true), short_bytes(bytes)});
  }
  return table(cells);
}

/// How many times the passes of one direction move a whole fp16 matrix of that shape.
double times_moved(bool square, std::optional<bool> backward) {
  Index bytes = 0;
  for (const io::EagerPass& pass : io::eager_passes())
    for (const io::EagerTensor& tensor : pass.tensors)
      if (tensor.square == square && backward.value_or(pass.backward) == pass.backward)
        bytes += tensor.bytes(N, d);
  return static_cast<double>(bytes) / static_cast<double>(element_bytes * N * (square ? N : d));
}

Plot plot_of(const std::vector<Row>& rows) {
  Plot plot = {"FA1 Figure 2, middle: forward traffic, " + shape_in_words(),
               {"block size B_c", Scale::log2},
               {"bytes read and written", Scale::linear, short_bytes},
               {{"flash forward", {}}, {"paper's figure", {}}},
               "read off the paper's figure"};
  for (const Row& row : rows) {
    if (row.panel != "middle") continue;
    const double B_c = row.b_c.get<double>();
    plot.series[0].points.push_back({B_c, static_cast<double>(row.bytes()), true});
    if (row.paper_bytes) plot.series[1].points.push_back({B_c, *row.paper_bytes, false});
  }
  return plot;
}

/// What a run holds with the paper's blocks, of the M they were made for.
std::string share_of_sram(const char* algorithm) {
  const Index held = io::find_algorithm(algorithm).footprint(gpt2_medium(), paper_blocks());
  return fixed(static_cast<double>(held) / static_cast<double>(element_bytes * sram_elements), 2);
}

void print(const std::vector<Row>& rows) {
  std::cout << "Figure 2 of the FlashAttention paper (arXiv 2205.14135), re-derived.\n"
            << "GPT-2 medium: " << shape_in_words()
            << ".\nPriced: elements of matrices at 2 bytes each; no vectors.\n"
            << "Executed: one head is run and counted for all " << heads
            << ": they are alike.\n\nLeft panel\n\n"
            << left_table(rows) << R"(
  standard  the paper's algorithms to the letter.
  eager     every operation a pass of its own, mask and dropout too: below.
  flash     the first release's loop order: keys outside, and the first visit
            neither reads O nor dQ. B_c = M/4d = 256 with M = 65,536 elements.
            (Runs keep partial O and dQ in 4 bytes; here all elements cost 2.)
            These blocks leave no room for S: a run of the forward pass holds
            )"
            << share_of_sram("fa1_forward_shipped") << " M, of the backward pass "
            << share_of_sram("fa1_backward_shipped") << R"( M, so SRAM has no limit here.
  paper     as stated, with the time on an A100.

The eager framework's passes. kept is dropout's mask, 1 byte an element

)" << passes_table()
            << "\n  In all: the N x N matrices " << times_moved(true, false)
            << " times forward and " << times_moved(true, true)
            << " times backward,\n  the N x d ones " << times_moved(false, std::nullopt)
            << " times. This is our reading: the paper has no "
            << "counting rule.\n\nMiddle panel: forward, block sizes swept\n\n"
            << middle_table(rows) << "\n"
            << in_characters(plot_of(rows)) << R"(
Not claimed: the figure's GFLOP column (66.6 and 75.2), which fits no count of
the whole batch that we found; and its right panel (block-sparse attention).
)";
}

void figure2(const OutputOptions& output) {
  output.check();
  const std::vector<Row> rows = count_all();
  const Records records = records_of(rows);
  const Plot plot = plot_of(rows);
  output.write(records, svg(plot));
  if (!output.json) return print(rows);
  const Json out = {{"n", N},
                    {"d", d},
                    {"batch", B},
                    {"heads", H},
                    {"element_bytes", element_bytes},
                    {"heads_run", 1},
                    {"rows", as_json(records)}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_figure2(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "figure2", "Figure 2 of the FlashAttention paper, re-derived: bytes that attention moves");
  verb->footer(
      "Runs standard attention and FlashAttention (its first release) on the shape of GPT-2\n"
      "medium and prices what they move at 2 bytes an element; lists the passes of an eager\n"
      "framework, which make the paper's 40.3 GB; sweeps the block size.");
  const auto output = std::make_shared<OutputOptions>();
  output->add_to(*verb);
  verb->callback([output] { figure2(*output); });
}

}  // namespace flashbook
