#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cpu_reference/error.hpp"
#include "tests/conformance/fuzz/fuzz.hpp"
#include "walkthrough/command_name.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/contestants.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook {
namespace {

using namespace conformance;

struct Options {
  std::string implementation;
  std::optional<double> seconds;
  std::optional<std::uint64_t> problems;
  std::uint64_t seed = 1;
  bool as_json = false;
};

FuzzReport run(const Options& options) {
  FuzzLimits limits;
  if (options.problems) limits.problems = *options.problems;
  if (options.seconds && !(*options.seconds >= 0 && std::isfinite(*options.seconds)))  // or NaN
    throw InputError("--seconds is " + std::to_string(*options.seconds) +
                     ": pass a number of seconds, 0 or more");
  if (options.seconds) limits.seconds = *options.seconds;
  if (!options.problems && !options.seconds) limits.seconds = 10;
  const flashbook::Progress progress("fuzzing");
  return fuzz(contestants(options.implementation), options.seed, limits,
              [&](std::uint64_t problems, double seconds) {
                progress.show(std::to_string(problems) + " problems, " +
                              std::to_string(std::llround(seconds)) + " s");
              });
}

/// "1000 problems of seed 1 in 0.8 s: no failure".
void print_report(const FuzzReport& report, std::uint64_t seed) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", report.seconds);
  std::cout << report.problems << " problems of seed " << seed << " in " << seconds
            << " s: " << (report.failure ? "a failure" : "no failure") << "\n";
  if (report.chances > 0)
    std::cout << report.chances
              << " times gate 2 or 3 failed on one set of data and passed on others: chance\n";
}

nlohmann::ordered_json json_of(const FuzzReport& report, std::uint64_t seed) {
  nlohmann::ordered_json object = {
      {"seed", seed}, {"problems", report.problems}, {"seconds", report.seconds}};
  for (Status status : {Status::passed, Status::failed, Status::skipped, Status::refused})
    object[name(status)] = report.runs[static_cast<std::size_t>(status)];
  object["chances"] = report.chances;
  object["failure"] = nullptr;
  if (report.failure)
    object["failure"] = {{"number", report.failure->number},
                         {"found", as_json(report.failure->found)},
                         {"shrunk", as_json(report.failure->shrunk)}};
  return object;
}

void print_failure(const FuzzFailure& failure) {
  std::cout << failure.shrunk.implementation << " fails problem " << failure.number
            << ", here at its smallest\n";
  for (const std::string& reason : failure.shrunk.reasons) std::cout << "  " << reason << "\n";
  std::cout << "  again: " << as_typed(failure.shrunk.command) << "\n"
            << "  as it was found: " << as_typed(failure.found.command) << "\n";
}

void fuzz_command(const Options& options) {
  const FuzzReport report = run(options);
  if (options.as_json) {
    std::cout << json_of(report, options.seed).dump(2) << "\n";
  } else {
    print_report(report, options.seed);
    if (report.failure) print_failure(*report.failure);
  }
  if (report.failure) throw CLI::RuntimeError(1);
}

}  // namespace

void add_fuzz(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("fuzz", "check implementations on random problems; shrink what fails");
  verb->add_option("--impl", options->implementation, "only this one (see list); default: all");
  verb->add_option("--seconds", options->seconds,
                   "how long; default 10, unless --problems is given");
  verb->add_option("--problems", options->problems, "how many, for a run that repeats exactly")
      ->check(CLI::Range(0.0, 1e18));
  verb->add_option("--seed", options->seed, "of the problems; default 1")
      ->check(CLI::Range(0.0, 1e18));
  verb->add_flag("--json", options->as_json, "one object, for programs");
  verb->callback([options] { fuzz_command(*options); });
}

}  // namespace flashbook
