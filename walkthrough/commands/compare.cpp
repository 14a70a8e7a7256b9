#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cpu_reference/error.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"

namespace flashbook {
namespace {

using namespace conformance;

struct Options {
  std::string a, b, problem;
  std::uint64_t seed = 1;
  Index rows = 32;
  bool backward = false, as_json = false;
};

/// Elements of each run of `rows` tokens that differ: of queries, or of keys for dK and dV.
using Differences = std::vector<Index>;

void check_taken(const Implementation& implementation, const Support& support) {
  if (!support)
    throw InputError(implementation.name() + " does not take this: " + support.reason());
}

void compute(const Implementation& implementation, const AttentionProblem& problem,
             const Data& data, bool backward, Results& results) {
  check_taken(implementation, implementation.supports_forward(problem));
  implementation.forward(problem, data.inputs(), results.outputs());
  if (!backward) return;
  check_taken(implementation, implementation.supports_backward(problem));
  implementation.backward(problem, data.inputs(), results.outputs(), data.cotangents(),
                          results.gradients());
}

Differences differences(const Storage& a, const Storage& b, Output output, Index rows) {
  const auto& sizes = a.layout().sizes;
  // O, dQ, dK, dV are [B, tokens, H, d], the LSE is [1, B, H, tokens].
  const bool is_last = output == Output::LSE;
  const Index tokens = is_last ? sizes[3] : sizes[1];
  const Index inner = is_last ? 1 : sizes[2] * sizes[3];
  Differences found(static_cast<std::size_t>((tokens + rows - 1) / rows));
  for (Index i = 0; i < a.layout().size(); ++i)
    if (!is_same(a.get(i), b.get(i))) ++found[static_cast<std::size_t>(i / inner % tokens / rows)];
  return found;
}

class Comparison {
 public:
  explicit Comparison(const Options& options)
      : options_(options),
        spec_(parse_problem(options.problem)),
        a_(find_implementation(options.a)),
        b_(find_implementation(options.b)) {
    const Data data(spec_, options.seed);
    Results a(spec_.problem), b(spec_.problem);
    compute(*a_, spec_.problem, data, options.backward, a);
    compute(*b_, spec_.problem, data, options.backward, b);
    outputs_ = {Output::O, Output::LSE};
    if (options.backward) outputs_.insert(outputs_.end(), {Output::dQ, Output::dK, Output::dV});
    for (Output output : outputs_)
      found_.push_back(differences(a[output], b[output], output, options.rows));
    for (const Implementation* each : {a_.get(), b_.get()})
      status_.push_back(verify(*each, {"compared", spec_}, options.seed).status);
  }

  bool both_pass() const { return std::count(status_.begin(), status_.end(), Status::passed) == 2; }
  void print_table() const;
  void print_json() const;

 private:
  const Options& options_;
  ProblemSpec spec_;
  std::unique_ptr<Implementation> a_, b_;
  std::vector<Output> outputs_;
  std::vector<Differences> found_;  ///< of each of the outputs
  std::vector<Status> status_;      ///< of a and b, by the suite's gates
};

void Comparison::print_table() const {
  std::vector<std::vector<std::string>> cells = {{"tokens"}};
  for (Output output : outputs_) cells[0].emplace_back(name(output));
  const Index tokens = std::max(spec_.problem->n_q, spec_.problem->n_k);
  for (Index first = 0; first < tokens; first += options_.rows) {
    const Index last = std::min(first + options_.rows, tokens) - 1;
    cells.push_back({std::to_string(first) + "–" + std::to_string(last)});
    for (const Differences& each : found_) {
      const auto run = static_cast<std::size_t>(first / options_.rows);
      cells.back().emplace_back(run >= each.size() ? "–" : each[run] == 0 ? "the same" : "differ");
    }
  }
  std::cout << a_->name() << " and " << b_->name() << " on the same data, bit for bit\n\n"
            << table(cells) << "\nAgainst the oracle: " << a_->name() << " " << name(status_[0])
            << ", " << b_->name() << " " << name(status_[1]) << ".\n";
}

void Comparison::print_json() const {
  nlohmann::ordered_json out = {{"a", a_->name()},
                                {"b", b_->name()},
                                {"problem", format_problem(spec_)},
                                {"seed", options_.seed},
                                {"rows", options_.rows},
                                {"a_status", name(status_[0])},
                                {"b_status", name(status_[1])},
                                {"differing_elements", nlohmann::ordered_json::object()}};
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    out["differing_elements"][std::string(name(outputs_[i]))] = found_[i];
  std::cout << out.dump(2) << "\n";
}

void compare_command(const Options& options) {
  const Comparison comparison(options);
  if (options.as_json)
    comparison.print_json();
  else
    comparison.print_table();
  if (!comparison.both_pass()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("compare", "where two implementations differ, bit for bit");
  verb->add_option("A", options->a, "one implementation (see list)")->required();
  verb->add_option("B", options->b, "the other; io.fa2[ROWSxKEYS] has blocks of your own")
      ->required();
  verb->add_option("--problem", options->problem,
                   "one problem in words, such as \"nq=65 nk=127 d=64 dtype=bf16 causal\"")
      ->required();
  verb->add_option("--rows", options->rows, "tokens to a line")
      ->check(CLI::Range(Index{1}, Index{1} << 24))
      ->capture_default_str();
  verb->add_flag("--backward", options->backward, "dQ, dK and dV too");
  verb->add_option("--seed", options->seed, "of the data; default 1")
      ->check(CLI::Range(std::uint64_t{0}, largest_seed));
  verb->add_flag("--json", options->as_json, "numbers of differing elements, for programs");
  verb->callback([options] { compare_command(*options); });
}

}  // namespace flashbook
