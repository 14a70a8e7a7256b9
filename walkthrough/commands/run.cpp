#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/kernel_run.hpp"
#include "walkthrough/line_table.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook {
namespace {

using namespace conformance;
using json = nlohmann::ordered_json;

struct Options {
  std::string kernel, pass, on = "cpu", dtype = "fp16", causal;
  Index n = 128, d = 64, heads = 1, batch = 1;
  std::optional<Index> n_q, n_k, d_v, heads_kv;
  std::optional<double> scale;
  KernelRunOptions run;
  bool as_json = false;
  std::string svg;
};

void check_sizes(const Options& o) {
  const auto check = [](const char* flag, Index value, Index least, Index most) {
    if (value < least || value > most)
      throw InputError(std::string(flag) + " is " + std::to_string(value) + ": pass " +
                       std::to_string(least) + " to " + std::to_string(most));
  };
  check("--n", o.n, 0, Index{1} << 20);
  check("--nq", o.n_q.value_or(o.n), 0, Index{1} << 20);
  check("--nk", o.n_k.value_or(o.n), 0, Index{1} << 20);
  check("--d", o.d, 1, 256);
  check("--dv", o.d_v.value_or(o.d), 1, 256);
  check("--heads", o.heads, 1, 1024);
  check("--kv-heads", o.heads_kv.value_or(o.heads), 1, 1024);
  check("--batch", o.batch, 0, 1024);
  check("--seeds", o.run.warp_orders, 1, 1000);
}

DType dtype_of(const std::string& text) {
  const auto dtype = dtype_called(text);
  if (!dtype || *dtype == DType::fp64)
    throw InputError("--dtype is " + text + ": pass fp16, bf16 or fp32");
  return *dtype;
}

AttentionProblem problem_of(const Options& o) {
  check_sizes(o);
  flashbook_problem p =
      dense_problem(o.batch, o.heads, o.heads_kv.value_or(o.heads), o.n_q.value_or(o.n),
                    o.n_k.value_or(o.n), o.d, o.d_v.value_or(o.d));
  p.dtype = static_cast<std::int32_t>(dtype_of(o.dtype));
  if (o.scale) p.scale = *o.scale;
  if (!o.causal.empty() && o.causal != name(Alignment::bottom_right) &&
      o.causal != name(Alignment::top_left))
    throw InputError("--causal is '" + o.causal +
                     "': pass --causal, which is bottom-right, or --causal=top-left");
  p.causal = !o.causal.empty();
  if (o.causal == name(Alignment::top_left)) p.alignment = FLASHBOOK_TOP_LEFT;
  return AttentionProblem(p);
}

// ---- for people

std::string used(std::optional<double> fraction) {
  return fraction ? fixed(*fraction, 2) : "–";
}

void print_judgement(const Judgement& judgement) {
  std::vector<std::vector<std::string>> rows = {
      {"error", "largest", "gate 1", "gate 2", "gate 3", ""}};
  for (const OutputReport& report : judgement.outputs) {
    const Margins& m = report.margins;
    rows.push_back({std::string(name(report.output)), short_number(m.largest_error), used(m.gate1),
                    used(m.gate2), used(m.gate3), m.pass() ? "passed" : "FAILED"});
  }
  std::cout << table(rows)
            << "Gates: the fraction used of what correct arithmetic allows (docs/gates.md).\n";
  if (!judgement.sampled.empty()) std::cout << "A sample: " << judgement.sampled << ".\n";
  for (const std::string& fault : judgement.faults) std::cout << fault << "\n";
}

/// Nominal: two products forward, five backward, of the pairs that see each other.
double flops_of(const std::string& pass, const AttentionProblem& problem) {
  double pairs = 0;
  const flashbook_problem& p = problem.fields();
  const Member m = problem.member(0);
  for (Index i = 0; i < p.n_q; ++i)
    pairs +=
        static_cast<double>(p.causal ? std::clamp<Index>(i + m.diagonal + 1, 0, p.n_k) : p.n_k);
  pairs *= static_cast<double>(p.batch * p.heads_q);
  return pairs *
         static_cast<double>(pass == "forward" ? 2 * (p.d + p.d_v) : 2 * (3 * p.d + 2 * p.d_v));
}

void print_time(const PassRun& pass, const AttentionProblem& problem, Machine machine) {
  if (!pass.seconds) return;
  std::cout << "Time: " << short_seconds(*pass.seconds);
  if (machine == Machine::cpu)
    std::cout << " of emulation, which predicts no GPU's.\n";
  else
    std::cout << " a launch, a median; "
              << short_flops(flops_of(pass.pass, problem) / *pass.seconds) << "/s.\n";
}

void print_pass(const PassRun& pass, const AttentionProblem& problem, Machine machine) {
  std::cout << "\n" << pass.pass << "/" << pass.kernel << "\n";
  print_time(pass, problem, machine);
  if (!pass.error.empty()) std::cout << "Stopped: " << pass.error << "\n";
  if (machine == Machine::gpu) return;
  std::cout << "\n" << costs_and_findings(pass.report);
}

/// The first block's copies and waits, in place of costs.
void print_ring(const KernelRun& run, const std::string& svg) {
  const PassRun& pass = run.passes.front();
  const ring::Timeline timeline = ring::timeline_of(pass.report.events, pass.tensors, {});
  if (timeline.stages.empty())
    throw InputError("--ring is given and KERNEL is " + pass.kernel +
                     ", which has no stages that TMA fills again and again: pass a rung that has, "
                     "such as warp_specialised, and more keys than a tile");
  if (!svg.empty()) write_file("--svg", svg, ring::svg_of(timeline, pass.kernel + ", block 0"));
  std::cout << pass.kernel << ", block 0\n\n"
            << ring::text_of(timeline) << findings_of(pass.report);
  for (const std::string& fault : run.judgement.faults) std::cout << fault << "\n";
}

/// "N_q 128, N_k 128, d 64, 4 heads, 2 of K and V, fp16, causal top-left".
std::string describe(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  std::ostringstream out;
  out << "N_q " << p.n_q << ", N_k " << p.n_k << ", d " << p.d;
  if (p.d_v != p.d) out << ", d_v " << p.d_v;
  if (p.batch > 1) out << ", batch " << p.batch;
  if (p.heads_q > 1) out << ", " << p.heads_q << " heads";
  if (p.heads_kv != p.heads_q) out << ", " << p.heads_kv << " of K and V";
  out << ", " << name(problem.dtype());
  if (p.causal) out << ", causal " << name(problem.alignment());
  return out.str();
}

void print_run(const KernelRun& run, const ProblemSpec& spec, Machine machine) {
  const std::string place = machine == Machine::cpu ? "the emulator" : find_gpu().name;
  std::cout << paragraph("On " + place + ": ", describe(spec.problem)) << "\n";
  print_judgement(run.judgement);
  for (const PassRun& pass : run.passes) print_pass(pass, spec.problem, machine);
}

// ---- for programs

json as_json(const PassRun& pass, Machine machine) {
  json object = {{"pass", pass.pass}, {"kernel", pass.kernel}, {"seconds", nullptr}};
  if (pass.seconds) object["seconds"] = *pass.seconds;
  object["error"] = pass.error;
  if (machine == Machine::gpu) return object;
  object["findings"] = json::array();
  for (const simt::Finding& finding : pass.report.findings)
    object["findings"].push_back(
        {{"category", simt::name(finding.category)}, {"text", finding.text()}});
  object["totals"] = counts_json(pass.report.total());
  object["lines"] = lines_json(pass.report);
  return object;
}

json as_json(const KernelRun& run, const ProblemSpec& spec, Machine machine) {
  json object = {{"on", name(machine)},
                 {"problem", format_problem(spec)},
                 {"passed", !run.failed()},
                 {"sampled", run.judgement.sampled},
                 {"faults", run.judgement.faults}};
  object["outputs"] = json::array();
  for (const OutputReport& report : run.judgement.outputs)
    object["outputs"].push_back(flashbook::as_json(report));
  object["passes"] = json::array();
  for (const PassRun& pass : run.passes) object["passes"].push_back(as_json(pass, machine));
  return object;
}

void run_command(Options& options) {
  options.run.machine = machine_called(options.on);
  if (options.run.watch && options.run.machine == Machine::gpu)
    throw InputError("--on is gpu and --ring watches the emulator: pass --on cpu");
  if (!options.svg.empty()) check_writable("--svg", options.svg);
  const ProblemSpec spec = {problem_of(options), {}};
  if (options.run.machine == Machine::gpu)
    if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) throw InputError(gpu.missing);
  const Rungs rungs = find_rungs(options.kernel, options.pass, options.run.machine, spec.problem);
  const KernelRun run = run_kernel(rungs, spec, options.run);
  if (options.run.watch)
    print_ring(run, options.svg);
  else if (options.as_json)
    std::cout << as_json(run, spec, options.run.machine).dump(2) << "\n";
  else
    print_run(run, spec, options.run.machine);
  if (run.failed()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* verb = app.add_subcommand(
      "run", "run a CUDA kernel, on the emulator or a GPU: its errors, time and costs by line");
  verb->add_option("KERNEL", o.kernel, "a rung: one_pass, three_kernel, backward/standard, …")
      ->required();
  verb->add_option("--on", o.on, "cpu (the emulator) or gpu")->capture_default_str();
  verb->add_option("--pass", o.pass, "forward, backward or both; default: the rung's own");
  verb->add_option("--n", o.n, "tokens: N_q = N_k")->capture_default_str();
  verb->add_option("--nq", o.n_q, "queries, if not --n");
  verb->add_option("--nk", o.n_k, "keys, if not --n");
  verb->add_option("--d", o.d, "head dimension of Q and K")->capture_default_str();
  verb->add_option("--dv", o.d_v, "of V and O, if not --d");
  verb->add_option("--heads", o.heads, "query heads")->capture_default_str();
  verb->add_option("--kv-heads", o.heads_kv, "heads of K and V, if not --heads");
  verb->add_option("--batch", o.batch, "sequences")->capture_default_str();
  verb->add_flag("--causal{bottom-right}", o.causal,
                 "hide keys right of the diagonal; --causal=top-left for the other one");
  verb->add_option("--dtype", o.dtype, "fp16, bf16 or fp32")->capture_default_str();
  verb->add_option("--scale", o.scale, "of Q·K; default 1/√d");
  verb->add_option("--seed", o.run.seed, "of the data; default 1")
      ->check(CLI::Range(std::uint64_t{0}, largest_seed));
  verb->add_option("--seeds", o.run.warp_orders, "orders of warps to emulate")
      ->capture_default_str();
  verb->add_flag("--once", o.run.once,
                 "on a GPU: a single launch, not timed, for ncu --profile-from-start off");
  CLI::Option* json = verb->add_flag("--json", o.as_json, "one object, for programs");
  CLI::Option* watch =
      verb->add_flag("--ring", o.run.watch,
                     "on the emulator: how the first block fills, uses and gives back its stages")
          ->excludes(json);
  verb->add_option("--svg", o.svg, "with --ring: draws it in this file")->needs(watch);
  verb->callback([options] { run_command(*options); });
}

}  // namespace flashbook
