#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/timing.hpp"

namespace flashbook {
namespace {

struct Options {
  std::string kernel, on = "cpu", problem = "nq=128 nk=128 d=64 dtype=fp16";
  std::uint64_t seed = 1;
  bool as_json = false;
};

void print(const Timing& timing) {
  std::cout << paragraph("forward/" + timing.kernel + " on " + timing.on + ", ", timing.problem)
            << "\n";
  const double believed = timing.ways.back().seconds;
  std::vector<std::vector<std::string>> rows = {{"timed so", "takes", "times"}};
  for (const TimedWay& way : timing.ways)
    rows.push_back({way.name, short_seconds(way.seconds), short_number(way.seconds / believed)});
  std::cout << table(rows) << "\n";
  for (const TimedWay& way : timing.ways) std::cout << paragraph(way.name + ": ", way.why);
}

void print_json(const Timing& timing) {
  nlohmann::ordered_json object = {
      {"on", timing.on}, {"kernel", timing.kernel}, {"problem", timing.problem}};
  for (const TimedWay& way : timing.ways)
    object["ways"].push_back({{"name", way.name}, {"seconds", way.seconds}, {"measures", way.why}});
  std::cout << object.dump(2) << "\n";
}

/// "one_pass" is "forward/one_pass".
std::string of_forward_ladder(const std::string& kernel) {
  return kernel.find('/') == std::string::npos ? "forward/" + kernel : kernel;
}

void timing_command(const Options& options) {
  const Machine machine = machine_called(options.on);
  const conformance::ProblemSpec spec = conformance::parse_problem(options.problem);
  if (machine == Machine::gpu)
    if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) throw InputError(gpu.missing);
  const Rungs rungs = find_rungs(of_forward_ladder(options.kernel), {}, machine, spec.problem);
  if (!rungs.forward)
    throw InputError("KERNEL is '" + options.kernel + "': forward kernels are timed; see list");
  const Timing timing = time_in_many_ways(*rungs.pair.forward, spec, machine, options.seed);
  for (const std::string& fault : timing.faults) std::cout << fault << "\n";
  if (!timing.faults.empty()) throw CLI::RuntimeError(1);
  options.as_json ? print_json(timing) : print(timing);
}

}  // namespace

void add_timing(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* verb =
      app.add_subcommand("timing", "time a forward kernel in the ways people do, right and wrong");
  verb->add_option("KERNEL", o.kernel, "a rung, such as tensor_core")->required();
  verb->add_option("--on", o.on, "cpu (the emulator) or gpu")->capture_default_str();
  verb->add_option("--problem", o.problem, "in words, as for verify")->capture_default_str();
  verb->add_option("--seed", o.seed, "of the data; default 1")
      ->check(CLI::Range(std::uint64_t{0}, largest_seed));
  verb->add_flag("--json", o.as_json, "one object, for programs");
  verb->callback([options] { timing_command(*options); });
}

}  // namespace flashbook
