#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cpu_reference/error.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/command_name.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/margins.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/places.hpp"
#include "walkthrough/plugin/verify_plugin.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/receipts/parts.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook {
namespace {

using namespace conformance;
constexpr std::size_t most_failures = 20;  // printed in full; --json has them all

struct Options {
  std::string implementation, on, plugin, cases = "*", problem;
  std::uint64_t seed = 1;
  double timeout = 30;
  std::string receipt;  // the folder; empty: none
  bool as_json = false, as_margins = false;
};

/// What may be named in --case: the kinds, with an example.
std::string known_cases() {
  std::set<std::string> kinds;
  for (const Case& known : all_cases()) kinds.insert(known.name.substr(0, known.name.find('/')));
  std::string list;
  for (const std::string& kind : kinds) list += (list.empty() ? "" : ", ") + kind + "/*";
  return list + " and, slow, large/* (for example '" + all_cases().front().name +
         "' or 'pair/*sinks*/bf16')";
}

std::vector<Case> chosen_cases(const Options& options) {
  if (!options.problem.empty()) return {{"problem", parse_problem(options.problem)}};
  std::vector<Case> cases = matching_cases(options.cases);
  if (cases.empty())
    throw InputError("--case is '" + options.cases + "': no case has such a name; there are " +
                     known_cases());
  return cases;
}

/// Without a name all of a kind: kernels if a machine is given, else what is written in C++.
Implementations chosen_implementations(const Options& options) {
  if (options.implementation.empty())
    return options.on.empty() ? implementations() : kernels_on(machine_called(options.on));
  Implementations one;
  one.push_back(find_implementation(options.implementation, options.on));
  return one;
}

/// What was judged, and the names of those who were.
struct Judged {
  std::vector<std::string> names;
  std::vector<CaseReport> reports;
  std::string stopped;  ///< why some cases were not run; empty if all were
  std::vector<plugin::Raised> raised;
};

void print_counts(const std::vector<CaseReport>& reports, const std::vector<std::string>& names) {
  std::map<std::string, std::map<Status, int>> counts;
  for (const CaseReport& report : reports) ++counts[report.implementation][report.status];
  std::vector<std::vector<std::string>> rows = {
      {"cases", "passed", "failed", "skipped", "refused"}};
  for (const std::string& name : names) {
    rows.push_back({name});
    for (Status status : {Status::passed, Status::failed, Status::skipped, Status::refused})
      rows.back().push_back(std::to_string(counts[name][status]));
  }
  std::cout << table(rows);
}

MarginTables margins_of(const std::vector<CaseReport>& reports) {
  MarginTables used;
  for (const CaseReport& report : reports) used.add(report);
  return used;
}

void print_margins(const std::vector<CaseReport>& reports, const std::vector<std::string>& names) {
  const MarginTables used = margins_of(reports);
  std::vector<std::vector<std::string>> rows = {{"largest error"}};
  for (Output output : all_outputs) rows[0].emplace_back(name(output));
  for (const std::string& implementation : names)
    for (DType dtype : {DType::fp16, DType::bf16, DType::fp32, DType::fp64}) {
      const auto* gates = used.find(implementation, dtype);
      if (!gates) continue;
      rows.push_back({implementation + " " + std::string(name(dtype))});
      for (const MarginTables::Gates& of_output : gates->each) {
        Largest of_any;
        for (const Largest& gate : of_output) of_any.add(gate.most);
        rows.back().push_back(of_any.text());
      }
    }
  std::cout << "\n"
            << table(rows)
            << "As a fraction of what the gates allow (docs/gates.md); above 1.00 fails.\n";
}

/// Of a pass: no fault, and counted apart.
bool is_refusal(const std::string& reason) {
  return reason.find(" is refused: ") != std::string::npos;
}

/// "align 28, nan 12": cases of a status, by what is before the slash of their names.
std::string counts_by_kind(const std::vector<CaseReport>& reports, Status status) {
  std::map<std::string, int> counts;
  for (const CaseReport& report : reports)
    if (report.status == status) ++counts[report.case_name.substr(0, report.case_name.find('/'))];
  std::string text;
  for (const auto& [kind, count] : counts)
    text += (text.empty() ? "" : ", ") + kind + " " + std::to_string(count);
  return text;
}

void print_reasons(const std::vector<CaseReport>& reports, Status status, const char* heading) {
  std::size_t printed = 0, total = 0;
  for (const CaseReport& report : reports) {
    if (report.status != status || (++total, printed == most_failures)) continue;
    if (printed++ == 0) std::cout << "\n" << heading << "\n";
    std::cout << report.implementation << " on " << report.case_name << "\n";
    for (const std::string& reason : report.reasons)
      if (status != Status::failed || !is_refusal(reason)) std::cout << paragraph("  ", reason);
    if (status == Status::failed && !report.command.empty())
      std::cout << "  again: " << as_typed(report.command) << "\n";
  }
  if (total > printed)
    std::cout << paragraph("… ", "and " + std::to_string(total - printed) +
                                     " more; all of them: " + counts_by_kind(reports, status));
}

/// Each reason of a refusal, with the number of cases that it kept from being judged.
void print_refusals(const std::vector<CaseReport>& reports) {
  std::map<std::string, int> counts;
  for (const CaseReport& report : reports)
    for (const std::string& reason : report.reasons)
      if (is_refusal(reason)) ++counts[reason];
  if (!counts.empty()) std::cout << "\nNot judged, and in how many cases:\n";
  for (const auto& [reason, count] : counts) {
    const std::string cases = std::to_string(count);
    std::cout << std::string(cases.size() < 6 ? 6 - cases.size() : 0, ' ') << cases << "  "
              << reason << "\n";
  }
}

Judged run(const Options& options) {
  const std::vector<Case> cases = chosen_cases(options);
  const flashbook::Progress progress("verifying");
  const conformance::Progress show = [&](std::size_t done, std::size_t total,
                                         const CaseReport& latest) {
    if (done % 16 == 0 || done == total)
      progress.show(std::to_string(done) + " of " + std::to_string(total) + ": " +
                    latest.case_name);
  };
  if (!options.plugin.empty()) {
    plugin::Verdict verdict = plugin::verify_plugin(
        {options.plugin, options.plugin, cases, options.seed}, options.timeout, show);
    return {{verdict.name}, std::move(verdict.reports), verdict.stopped, verdict.raised};
  }
  const Implementations all = chosen_implementations(options);
  Judged judged;
  for (const auto& implementation : all) judged.names.push_back(implementation->name());
  judged.reports = verify_all(all, cases, options.seed, show);
  return judged;
}

bool any(const std::vector<CaseReport>& reports, Status status) {
  return std::any_of(reports.begin(), reports.end(),
                     [&](const CaseReport& report) { return report.status == status; });
}

void print_json(const std::vector<CaseReport>& reports) {
  auto list = nlohmann::ordered_json::array();
  for (const CaseReport& report : reports) list.push_back(as_json(report));
  // The path of a plug-in may be no UTF-8.
  std::cout << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

/// A reader's kernel that refused everything was not shown to be right.
bool was_nothing_judged(const std::vector<CaseReport>& reports) {
  return !any(reports, Status::passed) && !any(reports, Status::failed);
}

void print_report(const Judged& judged, bool is_plugin) {
  const std::vector<CaseReport>& reports = judged.reports;
  print_counts(reports, judged.names);
  print_margins(reports, judged.names);
  if (is_plugin)
    print_refusals(reports);
  else if (any(reports, Status::refused))
    std::cout << "Refused: cases with a field the implementation does not take; 'list' says which."
                 "\n";
  print_reasons(reports, Status::skipped, "Skipped: standard attention cannot store them.");
  print_reasons(reports, Status::failed, "Failed.");
  if (is_plugin && was_nothing_judged(reports))
    std::cout << "\nNothing was judged: choose other cases, or let the kernel take more.\n";
  if (!judged.stopped.empty()) std::cout << "\nStopped: " << judged.stopped << ".\n";
}

/// Each traceback of a Python module once.
void print_raised(const std::vector<plugin::Raised>& raised) {
  for (const plugin::Raised& each : raised)
    std::cerr << "\n"
              << each.first << " (the first of " << each.times << ") was raised at\n"
              << each.frames;
}

/// The whole suite's word on each kernel.
void write_receipts(const std::vector<CaseReport>& reports, const std::string& folder) {
  const auto without = receipts::write_parts(
      folder, "verify", receipts::kernel_builds(), find_gpu(), [&](const std::string& kernel) {
        return receipts::verify_part(kernel, gpu_pairs(), reports);
      });
  for (const std::string& kernel : without)
    std::cerr << "no receipt of " << kernel << ": it failed, or passed nothing\n";
}

void verify_command(const Options& options) {
  if (!(options.timeout >= 0.001 && options.timeout <= 1e6))  // NaN is neither
    throw InputError("--timeout is " + std::to_string(options.timeout) +
                     ": pass seconds, from 0.001 to 1000000");
  if (!options.receipt.empty() && options.on != "gpu")
    throw InputError("--receipt is for what a GPU shows: pass --on gpu, too");
  const bool is_plugin = !options.plugin.empty();
  const Judged judged = run(options);
  if (options.as_json)
    print_json(judged.reports);
  else if (options.as_margins)
    std::cout << margins_of(judged.reports).markdown(judged.names);
  else
    print_report(judged, is_plugin);
  print_raised(judged.raised);
  if (!options.receipt.empty()) write_receipts(judged.reports, options.receipt);
  const bool is_vacuous = is_plugin && was_nothing_judged(judged.reports);
  if (any(judged.reports, Status::failed) || !judged.stopped.empty() || is_vacuous)
    throw CLI::RuntimeError(1);
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("verify", "check implementations against the oracle, gradients included");
  CLI::Option* implementation =
      verb->add_option("--impl", options->implementation,
                       "only this one (see list); default: all in C++, or with --on all kernels");
  CLI::Option* on = verb->add_option("--on", options->on,
                                     "the CUDA kernels: on the emulator (cpu) or on the GPU (gpu)");
  CLI::Option* plugin = verb->add_option("--plugin", options->plugin,
                                         "your own: a shared library, or a source in C, C++, CUDA "
                                         "or Python: docs/your_kernel.md")
                            ->excludes(implementation)
                            ->excludes(on);
  verb->add_option("--timeout", options->timeout,
                   "seconds a call of the plug-in may take; default 30")
      ->needs(plugin);
  CLI::Option* cases = verb->add_option("--case", options->cases,
                                        "cases by name, * and ? allowed, such as 'pair/*sinks*'");
  CLI::Option* problem =
      verb->add_option("--problem", options->problem,
                       "one problem in words, such as \"nq=65 nk=127 d=64 dtype=bf16 causal\"")
          ->excludes(cases);
  verb->add_option("--seed", options->seed, "of the data; default 1")
      ->check(CLI::Range(std::uint64_t{0}, largest_seed));
  CLI::Option* json = verb->add_flag("--json", options->as_json, "a list of reports, for programs");
  verb->add_flag("--margins", options->as_margins,
                 "the largest fraction of each gate, as the tables of docs/margins.md")
      ->excludes(json);
  verb->add_flag(
          "--receipt{" + (sources_folder() / "docs/receipts").string() + "}", options->receipt,
          "keeps what the whole suite showed on the GPU in docs/receipts, or --receipt=FOLDER")
      ->excludes(implementation)
      ->excludes(plugin)
      ->excludes(cases)
      ->excludes(problem);
  verb->callback([options] { verify_command(*options); });
}

}  // namespace flashbook
