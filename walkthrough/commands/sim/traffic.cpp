#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;
using io::Report;
using Json = nlohmann::ordered_json;

/// `sim traffic`: what the user asked for.
struct Question {
  std::string algorithm;
  ProblemOptions problem;
  ScheduleOptions schedule;
  bool analytic = false;
  OutputOptions output;
};

/// Elements a head that must move: for a dense forward pass also what its SRAM enforces.
double least_elements(const Question& q, const io::Algorithm& algorithm, const Report& report) {
  const Index sram = q.schedule.sram_bytes.value_or(report.peak_sram_bytes);
  const io::Shape shape = {static_cast<double>(q.problem.n), static_cast<double>(q.problem.d),
                           static_cast<double>(sram / bytes_of(dtype_of(q.problem.dtype)))};
  if (algorithm.backward || q.problem.causal) return io::compulsory(shape, algorithm.backward);
  return io::forward_lower_bound(shape);
}

Json tensors_json(const Report& r) {
  Json tensors = Json::object();
  for (const io::TensorTraffic& t : r.tensors)
    tensors[t.name] = {{"kind", name(t.kind)},
                       {"element_bytes", t.element_bytes},
                       {"reads", t.counts.reads / r.query_heads},
                       {"writes", t.counts.writes / r.query_heads},
                       {"atomic_updates", t.counts.atomic_updates / r.query_heads}};
  return tensors;
}

void print_json(const Question& q, const io::Algorithm& algorithm, const io::Schedule& schedule,
                const Report& r) {
  const Index heads = r.query_heads;
  const auto& [rows, columns] = schedule.blocks;
  const bool blocks = algorithm.takes.blocks;
  const Json out = {{"algorithm", r.algorithm},
                    {"source", source_of(r)},
                    {"executed", r.executed},
                    {"n", q.problem.n},
                    {"d", q.problem.d},
                    {"batch", q.problem.batch},
                    {"heads", q.problem.heads},
                    {"dtype", q.problem.dtype},
                    {"causal", q.problem.causal},
                    {"br", blocks ? Json(rows) : Json()},
                    {"bc", blocks ? Json(columns) : Json()},
                    {"splits", algorithm.takes.splits ? Json(schedule.splits) : Json()},
                    {"sram", q.schedule.sram_bytes ? Json(*q.schedule.sram_bytes) : Json()},
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
                    {"tensors", tensors_json(r)}};
  std::cout << out.dump(2) << "\n";
}

/// Elements per query head, a tensor a row.
Records records_of(const Report& r) {
  Records records = {
      {"tensor", "kind", "element_bytes", "reads", "writes", "atomic_updates", "source"}, {}};
  for (const io::TensorTraffic& t : r.tensors)
    records.rows.push_back({t.name, name(t.kind), t.element_bytes, t.counts.reads / r.query_heads,
                            t.counts.writes / r.query_heads,
                            t.counts.atomic_updates / r.query_heads, source_of(r)});
  return records;
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
  if (const Index updates = r.atomic_updates(); updates > 0)
    rows.push_back(row("atomic additions", updates, updates, "4 bytes, atomic"));
  return table(rows);
}

void print_table(const Question& q, const io::Algorithm& algorithm, const io::Schedule& schedule,
                 const Report& r) {
  const Index heads = r.query_heads;
  std::cout << algorithm.name << ": " << algorithm.title << "\n" << q.problem.text();
  if (algorithm.takes.blocks) std::cout << ", tiles of S " << text_of(schedule.blocks);
  if (algorithm.takes.splits) std::cout << ", " << schedule.splits << " splits";
  if (r.includes_init) std::cout << ", clearing counted";
  std::cout << "; " << (r.executed ? "counted in a run" : "from closed forms") << "\n\n"
            << traffic_table(r);

  const Index elements = r.matrix_reads() + r.matrix_writes() + 2 * r.atomic_updates();
  const double moved = static_cast<double>(elements / heads);
  const double least = least_elements(q, algorithm, r);
  std::cout << "\n  bytes, whole problem   read " << short_bytes(r.bytes_read()) << ", written "
            << short_bytes(r.bytes_written()) << "\n  at least               "
            << static_cast<Index>(std::ceil(least)) << " elements a head; moved "
            << short_number(moved / least) << " times that\n";
  if (algorithm.takes.blocks)
    std::cout << "  tiles of S computed    " << r.visited_tiles / heads << " per query head\n";
  std::cout << "  FLOPs of the products  " << short_flops(r.flops_executed) << " executed, "
            << short_flops(r.flops_nominal) << " nominal\n  peak SRAM of a worker  "
            << short_bytes(r.peak_sram_bytes) << " (" << r.peak_sram_bytes << " bytes)\n";
}

void traffic(const Question& q) {
  const io::Algorithm& algorithm = io::find_algorithm(q.algorithm);
  const AttentionProblem problem = q.problem.problem();
  const io::Schedule schedule = q.schedule.schedule(algorithm, problem);
  q.output.check();
  Report report = closed_form(algorithm, problem, schedule);
  if (!q.analytic) {
    check_executable(problem, report);
    io::RunOptions options = {schedule};
    options.sram_bytes = q.schedule.sram_bytes.value_or(io::Sram::unlimited);
    report = run_on_random(algorithm, problem, options);
  }
  q.output.write(records_of(report));
  if (q.output.json)
    print_json(q, algorithm, schedule, report);
  else
    print_table(q, algorithm, schedule, report);
}

}  // namespace

void add_sim_traffic(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand("traffic", "what one algorithm moves between HBM and SRAM");
  const auto q = std::make_shared<Question>();
  verb->add_option("--algorithm", q->algorithm, algorithm_names())->required();
  q->problem.add_to(*verb, true);
  q->schedule.add_to(*verb);
  verb->add_flag("--analytic", q->analytic, "from closed forms: any N at once, the same integers");
  q->output.add_to(*verb, false);
  verb->callback([q] { traffic(*q); });
}

}  // namespace flashbook
