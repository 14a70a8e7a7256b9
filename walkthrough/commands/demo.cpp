#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <optional>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/demos.hpp"
#include "walkthrough/line_table.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/ring/timeline.hpp"

namespace flashbook {
namespace {

struct Options {
  std::string kernel;
  std::optional<int> n;
  unsigned seed = 0, seeds = 1;
  bool ring = false;
  std::string svg;
};

int checked_n(const Options& options, const Demo& demo) {
  const int n = options.n.value_or(demo.usual_n);
  if (n >= demo.step && n <= demo.most_n && n % demo.step == 0) return n;
  const std::string accepted =
      (demo.step > 1 ? "a multiple of " + std::to_string(demo.step) + ", " : "") +
      std::to_string(demo.step) + " to " + std::to_string(demo.most_n);
  throw InputError("--n is " + std::to_string(n) + ": " + demo.name + " takes " + accepted +
                   "; pass one of these");
}

void print_list() {
  for (const Demo& demo : demos())
    std::cout << std::left << std::setw(18) << demo.name << demo.what << "\n";
}

/// What a demo gave in several orders of warps.
struct Orders {
  simt::Report report;  ///< the costs of the first, the findings of all
  unsigned run = 0, right = 0;
  std::string wrong;  ///< of the first order that was
  const void* x = nullptr;

  void add(DemoRun demo, unsigned seed) {
    if (run == 0) x = demo.x;
    right += demo.wrong.empty();
    if (wrong.empty() && !demo.wrong.empty())
      wrong = demo.wrong + (seed == 0 ? "" : ", in order " + std::to_string(seed));
    if (run++ == 0)
      report = std::move(demo.report);
    else
      for (simt::Finding& finding : demo.report.findings) report.add(std::move(finding));
  }
};

/// What copies and mbarriers did, in place of costs.
std::string ring_of(const Orders& orders, const Demo& demo, const std::string& svg) {
  const ring::Timeline timeline =
      ring::timeline_of(orders.report.events, {{orders.x, "x"}}, {32, "warp"});
  if (timeline.stages.empty())
    throw InputError("--ring is given and KERNEL is " + std::string(demo.name) +
                     ", which has no stages that TMA fills: pass ring");
  if (!svg.empty()) write_file("--svg", svg, ring::svg_of(timeline, demo.what));
  return ring::text_of(timeline) + findings_of(orders.report);
}

void print_values(const Orders& orders) {
  if (orders.run > 1)
    std::cout << "Right in " << orders.right << " of " << orders.run << " orders of warps.\n";
  else if (orders.right == 1)
    std::cout << "The result is right.\n";
  if (!orders.wrong.empty()) std::cout << "Wrong: " << orders.wrong << ".\n";
}

void run_command(const Options& options) {
  if (options.kernel.empty()) return print_list();
  if (!options.svg.empty()) check_writable("--svg", options.svg);
  const Demo& demo = find_demo(options.kernel);
  const int n = checked_n(options, demo);
  Orders orders;
  for (unsigned seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    simt::Options order;
    order.seed = seed;
    if (options.ring && seed == options.seed) order.watched = 0;
    orders.add(demo.run(n, order), seed);
  }
  const std::string below =
      options.ring ? ring_of(orders, demo, options.svg) : costs_and_findings(orders.report);
  std::cout << demo.name << ": " << demo.what << ", n = " << n << "\n";
  print_values(orders);
  std::cout << "\n" << below;
  if (!orders.wrong.empty() || !orders.report.clean()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_demo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* verb = app.add_subcommand(
      "demo", "run a small kernel of the book on the emulator: its result, costs and mistakes");
  verb->add_option("KERNEL", o.kernel, "its name; without one, what there is");
  verb->add_option("--n", o.n, "size; default: the chapter's");
  verb->add_option("--seed", o.seed, "order of warps to run first; 0: each in its turn")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  verb->add_option("--seeds", o.seeds, "how many orders, from --seed on")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI::Option* ring =
      verb->add_flag("--ring", o.ring, "how its warps fill, use and give back stages");
  verb->add_option("--svg", o.svg, "with --ring: draws it in this file")->needs(ring);
  verb->callback([options] { run_command(*options); });
}

}  // namespace flashbook
