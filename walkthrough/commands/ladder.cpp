#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/kernel_run.hpp"
#include "walkthrough/ladder.hpp"
#include "walkthrough/line_table.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook {
namespace {

using json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

struct Options {
  Index d = 64, n = 512;
  bool counts = false, losses = false, hopper = false, causal = false, as_json = false;
};

const LadderGain& gain_of(const LadderRung& rung, Index d) {
  return d == 64 ? rung.d64 : rung.d128;
}

std::string times(double gain) {
  return gain == 0 ? "" : fixed(gain, 2);
}

// ---- measured

void print_measured(const Options& options) {
  Rows rows = {{"rung", left("idea", 26), "predicted", "gain", "TFLOP/s"}};
  for (const LadderRung& rung : fa2_ladder()) {
    const LadderGain& gain = gain_of(rung, options.d);
    rows.push_back({rung.name, left(rung.idea, 26), times(rung.predicted), times(gain.times),
                    std::to_string(gain.tflops)});
  }
  std::cout << "An H200, N = 4096, d = " << options.d
            << (options.d == 64 ? ", 64 heads, fp16" : ", 32 heads, bf16")
            << "; gains against the rung above\n\n"
            << table(rows);
}

void print_hopper() {
  Rows rows = {{"rung", left("idea", 23), "predicted", "gain", "d = 64", "128", "256"}};
  for (const HopperRung& rung : hopper_ladder())
    rows.push_back({rung.name, left(rung.idea, 23), fixed(rung.predicted, 2), fixed(rung.gain, 2),
                    std::to_string(rung.d64), std::to_string(rung.d128),
                    std::to_string(rung.d256)});
  std::cout << "An H200, N = 4096, bf16; TFLOP/s, and at d = 128 gains against the rung above,\n"
               "the first one's against ping_pong\n\n"
            << table(rows)
            << "The last two rungs, persistent_tiles and cluster_multicast, were timed in\n"
               "another call: docs/performance.md, \"Beside cuDNN and FLASH\".\n";
}

// ---- losses

/// What part of its time a kernel loses that could be so many times faster: "44 %".
std::string loss(double gain) {
  return gain == 0 ? "–" : fixed(100 * (1 - 1 / gain), 0) + " %";
}

const LadderRung* rung_called(const char* name) {
  for (const LadderRung& rung : fa2_ladder())
    if (name != nullptr && std::string(name) == rung.name) return &rung;
  return nullptr;
}

std::vector<std::string> loss_row(const TritonLoss& lost) {
  std::ostringstream estimate;
  estimate << lost.least << "–" << lost.most << " %";
  const LadderRung* rung = rung_called(lost.rung);
  if (rung == nullptr) return {lost.what, estimate.str(), left("no rung", 22), "", "", ""};
  return {lost.what,          estimate.str(),        left(rung->name, 22), loss(rung->d64.times),
          loss(rung->causal), loss(rung->d128.times)};
}

void print_losses() {
  Rows rows = {{"lost by", "estimated", left("gained by", 22), "d = 64", "causal", "d = 128"}};
  for (const TritonLoss& lost : triton_losses) rows.push_back(loss_row(lost));
  std::cout << "Parts of a kernel's time: what is estimated of a first one in Triton, and\n"
               "what a rung measured on an H200, N = 4096\n\n"
            << table(rows);
}

// ---- counted

conformance::ProblemSpec problem_of(const Options& options) {
  if (options.n < 1 || options.n > 4096)
    throw InputError("--n is " + std::to_string(options.n) + ": pass 1 to 4096");
  flashbook_problem p = dense_problem(1, 1, 1, options.n, options.n, options.d, options.d);
  p.dtype = static_cast<std::int32_t>(DType::fp16);
  p.causal = options.causal;
  return {AttentionProblem(p), {}};
}

simt::LineCounts counts_of(const LadderRung& rung, const conformance::ProblemSpec& spec) {
  const KernelRun run = run_kernel(
      find_rungs(std::string("forward/") + rung.name, "", Machine::cpu, spec.problem), spec, {});
  if (run.failed())
    throw std::runtime_error(std::string(rung.name) + " is wrong or has findings: see 'run " +
                             rung.name + "'");
  return run.passes.front().report.total();
}

void print_counts(const Options& options, const conformance::ProblemSpec& spec) {
  Rows rows = {{"rung", "sectors", "waves", "mma", "ldm", "exp2", "shfl", "bar", "cp.async"}};
  for (const LadderRung& rung : fa2_ladder()) {
    const simt::LineCounts c = counts_of(rung, spec);
    rows.push_back({rung.name, std::to_string(c.global_load.cost + c.global_store.cost),
                    std::to_string(c.shared_load.cost + c.shared_store.cost), std::to_string(c.mma),
                    std::to_string(c.ldmatrix), std::to_string(c.exp2), std::to_string(c.shuffles),
                    std::to_string(c.barriers), std::to_string(c.async_copies)});
  }
  std::cout << "On the emulator, N = " << options.n << ", d = " << options.d << ", one head, fp16"
            << (options.causal ? ", causal" : "") << "\n\n"
            << table(rows)
            << "sectors: of global memory, 32 bytes; waves: wavefronts of shared memory.\n"
               "Instructions are a warp's.\n";
}

// ---- for programs

json as_json(const LadderGain& gain) {
  json object = {{"gain", nullptr}, {"tflops", gain.tflops}};
  if (gain.times != 0) object["gain"] = gain.times;
  return object;
}

void print_json(const Options& options) {
  json rungs = json::array();
  for (const LadderRung& rung : fa2_ladder()) {
    json object = {{"name", rung.name}, {"idea", rung.idea}, {"predicted", nullptr}};
    if (rung.predicted != 0) object["predicted"] = rung.predicted;
    object["d64"] = as_json(rung.d64);
    object["d128"] = as_json(rung.d128);
    if (options.counts) object["counts"] = counts_json(counts_of(rung, problem_of(options)));
    rungs.push_back(std::move(object));
  }
  std::cout << rungs.dump(2) << "\n";
}

void run_command(const Options& options) {
  if (options.d != 64 && options.d != 128)
    throw InputError("--d is " + std::to_string(options.d) +
                     ": the ladder was measured at 64 and 128; pass one of these");
  if (options.as_json)
    print_json(options);
  else if (options.losses)
    print_losses();
  else if (options.hopper)
    print_hopper();
  else if (options.counts)
    print_counts(options, problem_of(options));
  else
    print_measured(options);
}

}  // namespace

void add_ladder(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* verb = app.add_subcommand(
      "ladder", "the rungs: ideas, predictions, gains on an H200, counted costs");
  verb->add_option("--d", o.d, "head dimension, 64 or 128")->capture_default_str();
  CLI::Option* counts =
      verb->add_flag("--counts", o.counts, "what each rung executes, counted on the emulator");
  verb->add_option("--n", o.n, "tokens, for --counts")->capture_default_str()->needs(counts);
  verb->add_flag("--causal", o.causal, "a causal mask, for --counts")->needs(counts);
  verb->add_flag("--losses", o.losses, "what a first kernel in Triton is said to lose, and ours")
      ->excludes(counts)
      ->excludes(verb->get_option("--d"));
  verb->add_flag("--hopper", o.hopper, "the rungs for Hopper GPUs: predictions, gains and rates")
      ->excludes(counts)
      ->excludes("--losses")
      ->excludes("--d");
  verb->add_flag("--json", o.as_json, "for programs")->excludes("--losses")->excludes("--hopper");
  verb->callback([options] { run_command(*options); });
}

}  // namespace flashbook
