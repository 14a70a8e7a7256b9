#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using io::Blocks;
using io::Report;
using Json = nlohmann::ordered_json;

/// `sim traffic`: what the user asked for.
struct Question {
  std::string algorithm = "fa2_forward", dtype = "fp32";
  Index n = 1024, d = 64, batch = 1, heads = 1;
  std::optional<Index> b_r, b_c, sram_bytes;
  bool causal = false, analytic = false, json = false;
};

// ---- what is asked, checked

[[noreturn]] void refuse(const std::string& flag, const std::string& value,
                         const std::string& what_to_do) {
  throw InputError(flag + " is " + value + ": " + what_to_do);
}

void check_positive(const char* flag, Index value) {
  if (value < 1) refuse(flag, std::to_string(value), "it must be at least 1");
}

DType dtype_of(const std::string& text) {
  const auto dtype = dtype_called(text);
  if (!dtype || *dtype == DType::fp64) refuse("--dtype", text, "pass fp16, bf16 or fp32");
  return *dtype;
}

/// Counts are 64-bit integers; FLOPs are the largest of them.
void check_countable(const Question& q) {
  const double flops = 20. * static_cast<double>(q.n) * static_cast<double>(q.n) *
                       static_cast<double>(q.d) * static_cast<double>(q.batch) *
                       static_cast<double>(q.heads);
  if (flops > 0x1p62)
    refuse("--n", std::to_string(q.n),
           "with these --d, --batch and --heads its counts pass 2^63; pass smaller sizes");
}

AttentionProblem problem_of(const Question& q) {
  check_positive("--n", q.n);
  check_positive("--d", q.d);
  check_positive("--batch", q.batch);
  check_positive("--heads", q.heads);
  check_countable(q);
  flashbook_problem p = dense_problem(q.batch, q.heads, q.heads, q.n, q.n, q.d, q.d);
  p.dtype = static_cast<std::int32_t>(dtype_of(q.dtype));
  p.causal = q.causal;
  return AttentionProblem(p);
}

Blocks blocks_of(const Question& q, const io::Algorithm& algorithm,
                 const AttentionProblem& problem) {
  const bool any = q.b_r || q.b_c || q.sram_bytes;
  if (!algorithm.takes.blocks) {
    if (any)
      throw InputError(q.algorithm +
                       " streams whole matrices and has no blocks: leave out --br, "
                       "--bc and --sram");
    return io::default_blocks;
  }
  if (q.sram_bytes) {
    check_positive("--sram", *q.sram_bytes);
    return best_blocks(algorithm, problem, *q.sram_bytes);
  }
  if (q.b_r.has_value() != q.b_c.has_value())
    throw InputError("--br and --bc make one tile: pass both, or --sram to have them chosen");
  if (!q.b_r) return clamped(io::default_blocks, problem);
  check_positive("--br", *q.b_r);
  check_positive("--bc", *q.b_c);
  return {*q.b_r, *q.b_c};
}

/// About a minute of two cores, and memory for the matrices that standard attention keeps.
void check_executable(const Question& q, const Report& formula) {
  const Index most_flops = 5'000'000'000'000, most_bytes = Index{4} << 30;
  Index n2_bytes = 0;
  for (const io::TensorTraffic& t : formula.tensors)
    if (t.name == "S" || t.name == "P" || t.name == "dP" || t.name == "dS")
      n2_bytes += q.batch * q.heads * q.n * q.n * t.element_bytes;
  if (formula.flops_executed > most_flops || n2_bytes > most_bytes)
    throw InputError(
        "--n, --d, --batch and --heads make a run of more than a minute or 4 GiB: lower them, or "
        "add "
        "--analytic for the same integers from closed forms");
}

// ---- the answer

/// Elements a head that must move: for a dense forward pass also what its SRAM enforces.
double least_elements(const Question& q, const io::Algorithm& algorithm, const Report& report) {
  const double n = static_cast<double>(q.n), d = static_cast<double>(q.d);
  if (algorithm.backward) return 8 * n * d;  // Q, K, V, O, dO in; dQ, dK, dV out
  if (q.causal) return 4 * n * d;
  const Index sram = q.sram_bytes.value_or(report.peak_sram_bytes);
  const double m = static_cast<double>(sram / bytes_of(dtype_of(q.dtype)));
  return io::forward_lower_bound({n, d, m});
}

void print_json(const Question& q, const io::Algorithm& algorithm, const Blocks& blocks,
                const Report& r) {
  const Index heads = r.query_heads;
  Json tensors = Json::object();
  for (const io::TensorTraffic& t : r.tensors)
    tensors[t.name] = {{"kind", name(t.kind)},
                       {"element_bytes", t.element_bytes},
                       {"reads", t.counts.reads / heads},
                       {"writes", t.counts.writes / heads},
                       {"atomic_updates", t.counts.atomic_updates / heads}};
  Json out = {{"algorithm", r.algorithm},
              {"source", r.executed ? "executed" : "closed form"},
              {"executed", r.executed},
              {"n", q.n},
              {"d", q.d},
              {"batch", q.batch},
              {"heads", q.heads},
              {"dtype", q.dtype},
              {"causal", q.causal},
              {"br", algorithm.takes.blocks ? Json(blocks.rows) : Json()},
              {"bc", algorithm.takes.blocks ? Json(blocks.columns) : Json()},
              {"sram", q.sram_bytes ? Json(*q.sram_bytes) : Json()},
              {"matrix_reads", r.matrix_reads() / heads},
              {"matrix_writes", r.matrix_writes() / heads},
              {"vector_reads", r.vector_reads() / heads},
              {"vector_writes", r.vector_writes() / heads},
              {"atomic_updates", r.atomic_updates() / heads},
              {"visited_tiles", r.visited_tiles / heads},
              {"bytes_read", r.bytes_read()},
              {"bytes_written", r.bytes_written()},
              {"peak_sram_bytes", r.peak_sram_bytes},
              {"flops_executed", r.flops_executed},
              {"flops_nominal", r.flops_nominal},
              {"least_elements", least_elements(q, algorithm, r)},
              {"includes_init", r.includes_init},
              {"tensors", tensors}};
  std::cout << out.dump(2) << "\n";
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// Traffic per query head, a tensor a row.
std::string traffic_table(const Report& r) {
  const auto row = [&](const std::string& name, Index reads, Index writes,
                       const std::string& note) {
    return std::vector<std::string>{name, std::to_string(reads / r.query_heads),
                                    std::to_string(writes / r.query_heads), note};
  };
  std::vector<std::vector<std::string>> rows = {
      {"elements per query head", "read", "written", "of"}};
  for (const io::TensorTraffic& t : r.tensors)
    rows.push_back(row(t.name, t.counts.reads, t.counts.writes,
                       std::to_string(t.element_bytes) + " bytes, " + std::string(name(t.kind))));
  rows.push_back(row("all matrices", r.matrix_reads(), r.matrix_writes(), ""));
  rows.push_back(row("all vectors", r.vector_reads(), r.vector_writes(), ""));
  return table(rows);
}

std::string in_bytes(Index bytes) {
  return short_bytes(static_cast<double>(bytes));
}

void print_table(const Question& q, const io::Algorithm& algorithm, const Blocks& blocks,
                 const Report& r) {
  const Index heads = r.query_heads;
  std::cout << algorithm.name << ": " << algorithm.title << "\n"
            << "N = " << q.n << ", d = " << q.d << ", B = " << q.batch << ", H = " << q.heads
            << ", " << q.dtype << (q.causal ? ", causal" : "");
  if (algorithm.takes.blocks)
    std::cout << ", tiles of S " << blocks.rows << " x " << blocks.columns;
  std::cout << "; " << (r.executed ? "counted in a run" : "from closed forms") << "\n\n"
            << traffic_table(r);

  const double moved = static_cast<double>((r.matrix_reads() + r.matrix_writes()) / heads);
  const double least = least_elements(q, algorithm, r);
  std::cout << "\n  bytes, whole problem   read " << in_bytes(r.bytes_read()) << ", written "
            << in_bytes(r.bytes_written()) << "\n  at least               "
            << static_cast<Index>(std::ceil(least)) << " elements a head; moved "
            << digits(moved / least) << " times that\n";
  if (algorithm.takes.blocks)
    std::cout << "  tiles of S computed    " << r.visited_tiles / heads << " per query head\n";
  std::cout << "  FLOPs of the products  " << r.flops_executed << " executed, " << r.flops_nominal
            << " nominal\n  peak SRAM of a worker  " << in_bytes(r.peak_sram_bytes) << " ("
            << r.peak_sram_bytes << " bytes)\n";
}

void traffic(const Question& q) {
  const io::Algorithm& algorithm = io::find_algorithm(q.algorithm);
  const AttentionProblem problem = problem_of(q);
  const Blocks blocks = blocks_of(q, algorithm, problem);
  Report report = closed_form(algorithm, problem, {blocks});
  if (!q.analytic) {
    check_executable(q, report);
    report = run_on_random(algorithm, problem, blocks, q.sram_bytes.value_or(io::Sram::unlimited));
  }
  if (q.json)
    print_json(q, algorithm, blocks, report);
  else
    print_table(q, algorithm, blocks, report);
}

std::string algorithm_names() {
  std::string names;
  for (const io::Algorithm& algorithm : io::algorithms())
    names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  return names;
}

}  // namespace

void add_sim(CLI::App& app) {
  CLI::App* sim = app.add_subcommand("sim", "attention on simulated memory, counted");
  sim->require_subcommand(1);
  CLI::App* verb = sim->add_subcommand("traffic", "what one algorithm moves between HBM and SRAM");
  const auto q = std::make_shared<Question>();
  verb->add_option("--algorithm", q->algorithm, algorithm_names())->required();
  verb->add_option("--n", q->n, "tokens: N_q = N_k = N")->required();
  verb->add_option("--d", q->d, "head dimension")->required();
  CLI::Option* b_r =
      verb->add_option("--br", q->b_r, "query rows of a tile of S (without --sram: 256)");
  CLI::Option* b_c = verb->add_option("--bc", q->b_c, "keys of a tile of S (without --sram: 256)");
  verb->add_option("--sram", q->sram_bytes,
                   "bytes of SRAM: takes the tiles that fit and move the fewest bytes")
      ->check(CLI::Range(1.0, 1e18))
      ->excludes(b_r)
      ->excludes(b_c);
  verb->add_flag("--causal", q->causal, "hide keys right of the diagonal");
  verb->add_option("--batch", q->batch, "sequences")->capture_default_str();
  verb->add_option("--heads", q->heads, "query heads, each with a key/value head")
      ->capture_default_str();
  verb->add_option("--dtype", q->dtype, "fp16, bf16 or fp32")->capture_default_str();
  verb->add_flag("--analytic", q->analytic, "from closed forms: any N at once, the same integers");
  verb->add_flag("--json", q->json, "for programs");
  verb->callback([q] { traffic(*q); });
}

}  // namespace flashbook
