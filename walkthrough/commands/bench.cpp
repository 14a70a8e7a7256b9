#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/bench/cpu_team.hpp"
#include "walkthrough/bench/gemm.hpp"
#include "walkthrough/bench/kernel_team.hpp"
#include "walkthrough/bench/names.hpp"
#include "walkthrough/bench/peer_team.hpp"
#include "walkthrough/bench/report.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/places.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/receipts/parts.hpp"

namespace flashbook {
namespace {

using namespace bench;

struct Arguments {
  std::string impl = "*", pass = "both", on, dtype, csv, svg, peers, receipt;
  std::vector<std::string> shapes;
  int rounds = 5;
  bool as_json = false, with_peers = false;
};

Machine machine_of(const Arguments& a) {
  const Gpu gpu = find_gpu();
  if (a.on.empty()) return gpu.missing.empty() ? Machine::gpu : Machine::cpu;
  const Machine machine = machine_called(a.on);
  if (machine == Machine::gpu && !gpu.missing.empty()) throw InputError(gpu.missing);
  return machine;
}

DType dtype_of(const Arguments& a, Machine machine) {
  if (a.dtype.empty()) return machine == Machine::gpu ? DType::bf16 : DType::fp32;
  const auto dtype = dtype_called(a.dtype);
  if (!dtype || *dtype == DType::fp64)
    throw InputError("--dtype is '" + a.dtype + "': pass fp16, bf16 or fp32");
  return *dtype;
}

std::vector<Pass> passes_of(const Arguments& a) {
  if (a.pass == "both") return {Pass::forward, Pass::backward};
  for (const Pass pass : {Pass::forward, Pass::backward})
    if (a.pass == name(pass)) return {pass};
  throw InputError("--pass is '" + a.pass + "': pass forward, backward or both");
}

std::vector<Shape> shapes_of(const Arguments& a, Machine machine) {
  if (a.shapes.empty()) return default_shapes(machine);
  std::vector<Shape> shapes;
  for (const std::string& text : a.shapes)
    for (const Shape& shape : parse_shapes(text, machine)) shapes.push_back(shape);
  return shapes;
}

std::int64_t most_elements(const std::vector<Shape>& shapes) {
  std::int64_t most = 0;
  for (const Shape& s : shapes) most = std::max(most, s.batch * s.heads * s.n * s.d);
  return most;
}

/// All that takes part, and what they are measured against.
struct Field {
  std::unique_ptr<Device> device;
  std::unique_ptr<KernelTeam> kernels;
  Implementations implementations[2];  ///< of each pass, on a CPU
  std::unique_ptr<CpuTeam> on_cpu[2];
  std::unique_ptr<PeerTeam> peers;
  Gemm gemm;
  double copy_rate = 0;

  std::vector<Team*> teams(Pass pass) const {
    std::vector<Team*> all;
    Team* const cpu = on_cpu[pass == Pass::backward].get();
    for (Team* team : std::initializer_list<Team*>{kernels.get(), cpu, peers.get()})
      if (team) all.push_back(team);
    return all;
  }
};

std::unique_ptr<PeerTeam> peers_of(const Arguments& a, const Tensors& tensors, DType dtype,
                                   std::int64_t elements) {
  const std::filesystem::path script =
      a.peers.empty() ? sources_folder() / "tests/gpu/peers.py" : std::filesystem::path(a.peers);
  if (!std::filesystem::exists(script))
    throw InputError("--peers is '" + script.string() +
                     "': there is no such file; pass --peers=…/tests/gpu/peers.py");
  try {
    return std::make_unique<PeerTeam>("python3", script, tensors, dtype, elements);
  } catch (const std::runtime_error& error) {
    throw InputError(std::string("--peers: ") + error.what());
  }
}

Field on_gpu(const Arguments& a, const Tensors& tensors, DType dtype, std::int64_t elements) {
  Field field;
  field.device = gpu_device();
  field.kernels = std::make_unique<KernelTeam>(*field.device, gpu_pairs());
  field.copy_rate = field.device->copy_rate();
  if (a.with_peers) field.peers = peers_of(a, tensors, dtype, elements);
  field.gemm = cublas_gemm(*field.device, dtype);
  if (!field.gemm.repeated && field.peers) field.gemm = field.peers->gemm();
  return field;
}

Field on_cpu(const Arguments& a) {
  if (a.with_peers) throw InputError("--peers needs a GPU: leave it out, or pass --on gpu");
  Field field;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const bool is_backward = pass == Pass::backward;
    field.implementations[is_backward] = cpu_contestants(pass);
    field.on_cpu[is_backward] = std::make_unique<CpuTeam>(field.implementations[is_backward]);
  }
  field.gemm = eigen_gemm();
  field.copy_rate = EmulatedDevice({}).copy_rate();
  return field;
}

/// Throws InputError for a name of --impl that nobody has.
Names names_of(const Arguments& a, Machine machine) {
  const auto pairs = machine == Machine::gpu ? gpu_pairs() : emulated_pairs();
  std::vector<std::pair<Pass, std::string>> all;
  for (const Pass pass : passes_of(a)) {
    for (const std::string& kernel : kernel_names(pairs, pass, machine))
      all.emplace_back(pass, kernel);
    if (machine == Machine::cpu)
      for (const auto& implementation : implementations())
        all.emplace_back(pass, implementation->name());
  }
  const Names names(a.impl, pairs);
  names.check(all, a.with_peers);
  return names;
}

std::vector<Row> run(const Arguments& a, const std::vector<Shape>& shapes, DType dtype,
                     const Names& names, const Tensors& tensors, const Field& field) {
  const Progress progress("timing");
  std::vector<Row> rows;
  for (const Pass pass : passes_of(a)) {
    const Options options = {a.rounds, names.wanted(pass),
                             [&](const std::string& where) { progress.show(where); }};
    for (const Shape& shape : shapes) {
      const AttentionProblem problem = problem_of(shape, dtype);
      for (Row& row :
           bench::bench({shape, pass, problem, tensors}, field.teams(pass), field.gemm, options))
        rows.push_back(std::move(row));
    }
  }
  if (rows.empty())
    throw InputError("--impl is '" + a.impl + "': nobody of that name takes part; see 'list'");
  return rows;
}

std::string heading(const Arguments& a, Machine machine, DType dtype, const Field& field,
                    const std::vector<Row>& rows) {
  std::ostringstream out;
  const Gpu gpu = find_gpu();
  if (machine == Machine::gpu)
    out << gpu.name << ", driver " << gpu.driver;
  else
    out << "This machine's CPU";
  out << "; " << name(dtype) << ". Copy: " << short_bytes(field.copy_rate)
      << "/s, read and written.";
  if (rows.front().gemm_flops)
    out << " GEMM: " << short_flops(*rows.front().gemm_flops) << "/s at first.";
  else
    out << " GEMM: none, for want of cuBLAS.";
  if (field.peers) out << " " << field.peers->versions() << ".";
  out << " Medians of " << a.rounds << " rounds.";
  return paragraph("", out.str());
}

void print(const Arguments& a, Machine machine, DType dtype, const Field& field,
           const std::vector<Row>& rows) {
  if (a.as_json) {
    std::cout << as_json(records_of(rows)).dump(2) << "\n";
    return;
  }
  std::cout << heading(a, machine, dtype, field, rows) << tables(rows);
  if (machine == Machine::cpu)
    std::cout << "\nTimes of emulated kernels say how long the emulation takes; they predict\n"
                 "no GPU's.\n";
}

void write_files(const Arguments& a, const std::vector<Row>& rows) {
  if (!a.csv.empty()) write_file("--csv", a.csv, as_csv(records_of(rows)));
  if (a.svg.empty()) return;
  const auto plot = plot_of(rows);
  if (!plot) throw InputError("--svg is '" + a.svg + "': there is no rate to draw");
  write_file("--svg", a.svg, svg(*plot));
}

void write_receipts(const std::vector<Row>& rows, const std::string& folder) {
  const auto without = receipts::write_parts(
      folder, "bench", receipts::kernel_builds(), find_gpu(),
      [&](const std::string& kernel) { return receipts::bench_part(kernel, rows); });
  for (const std::string& kernel : without)
    std::cerr << "no receipt of " << kernel << ": it was not timed, or its result is wrong\n";
}

void bench_command(const Arguments& a) {
  const Machine machine = machine_of(a);
  if (!a.receipt.empty() && machine == Machine::cpu)
    throw InputError("--receipt is for what a GPU shows: pass --on gpu, where there is one");
  const DType dtype = dtype_of(a, machine);
  const std::vector<Shape> shapes = shapes_of(a, machine);
  const Names names = names_of(a, machine);
  if (!a.csv.empty()) check_writable("--csv", a.csv);
  if (!a.svg.empty()) check_writable("--svg", a.svg);
  const std::int64_t elements = most_elements(shapes);
  const Tensors tensors(dtype, elements);
  const Field field = machine == Machine::gpu ? on_gpu(a, tensors, dtype, elements) : on_cpu(a);
  const std::vector<Row> rows = run(a, shapes, dtype, names, tensors, field);
  print(a, machine, dtype, field, rows);
  write_files(a, rows);
  if (!a.receipt.empty()) write_receipts(rows, a.receipt);
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.failed; }))
    throw CLI::RuntimeError(1);
}

}  // namespace

void add_bench(CLI::App& app) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "bench", "time kernels beside each other and what others have, results checked");
  verb->add_option("--impl", a->impl,
                   "names with commas, * and ? allowed: tensor_core,torch.*; backward, a pair's "
                   "name (list) stands for its backward kernel")
      ->capture_default_str();
  verb->add_option("--pass", a->pass, "forward, backward or both")->capture_default_str();
  verb->add_option("--shape", a->shapes,
                   "such as \"n=512,4096 d=128 causal dense packed\", also b= and h=; may come "
                   "again; "
                   "default: the grid of the published tables");
  verb->add_option("--dtype", a->dtype, "fp16, bf16 or fp32; default: bf16 on a GPU, else fp32");
  verb->add_option("--on", a->on, "gpu or cpu; default: gpu if there is one");
  verb->add_option("--rounds", a->rounds, "times each is timed")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  verb->add_flag("--peers{}", a->peers,
                 "PyTorch's kernels, too; --peers=FILE: the script, if moved");
  verb->add_flag("--json", a->as_json, "a list of rows, for programs");
  verb->add_option("--csv", a->csv, "writes the rows to this file");
  verb->add_option("--svg", a->svg, "draws the rates of the first pass, d and mask to this file");
  verb->add_flag("--receipt{" + (sources_folder() / "docs/receipts").string() + "}", a->receipt,
                 "keeps the times of a GPU in docs/receipts, or --receipt=FOLDER");
  verb->callback([a, verb] {
    a->with_peers = verb->count("--peers") > 0;
    bench_command(*a);
  });
}

}  // namespace flashbook
