#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "walkthrough/commands/commands.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"

namespace flashbook {
namespace {

using json = nlohmann::ordered_json;

/// A small problem that uses one option of the contract.
struct Probe {
  std::string option;
  AttentionProblem problem;
};

constexpr Index tokens = 8, heads = 4, channels = 16;

template <class Change>
Probe probe(const std::string& option, Change&& change) {
  flashbook_problem p = dense_problem(1, heads, heads, tokens, tokens, channels, channels);
  change(p);
  return {option, AttentionProblem(p)};
}

Probe dtype_probe(DType dtype) {
  return probe(std::string(name(dtype)),
               [&](flashbook_problem& p) { p.dtype = static_cast<std::int32_t>(dtype); });
}

Probe packed_probe() {
  flashbook_problem p = dense_problem(1, heads, heads, tokens, tokens, channels, channels);
  p.packed = 1;
  p.members = 2;
  return {"packed sequences", AttentionProblem(p, {0, 3, tokens}, {0, 5, tokens})};
}

Probe grouped_probe() {
  return {"grouped heads",
          AttentionProblem(dense_problem(1, heads, 2, tokens, tokens, channels, channels))};
}

Probe d_v_probe() {
  return {"d ≠ d_v", AttentionProblem(dense_problem(1, heads, heads, tokens, tokens, channels, 8))};
}

std::vector<Probe> probes() {
  using P = flashbook_problem;
  return {
      dtype_probe(DType::fp16),
      dtype_probe(DType::bf16),
      dtype_probe(DType::fp32),
      dtype_probe(DType::fp64),
      grouped_probe(),
      d_v_probe(),
      packed_probe(),
      probe("causal, bottom-right", [](P& p) { p.causal = 1; }),
      probe("causal, top-left", [](P& p) { p.causal = 1, p.alignment = FLASHBOOK_TOP_LEFT; }),
      probe("window", [](P& p) { p.window_left = 2, p.window_right = 1; }),
      probe("scale ≤ 0", [](P& p) { p.scale = -1; }),
      probe("softcap", [](P& p) { p.softcap = 30; }),
      probe("bias",
            [](P& p) {
              set_contiguous_bias(p, {1, heads, tokens, tokens});
            }),
      probe("ALiBi", [](P& p) { p.alibi = FLASHBOOK_ALIBI_H; }),
      probe("sinks", [](P& p) { p.has_sinks = 1; }),
      probe("gradient of the LSE", [](P& p) { p.has_dlse = 1; }),
  };
}

std::string answer(const Support& forward, const Support& backward) {
  if (forward && backward) return "yes";
  return forward ? "forward" : "no";
}

/// What an implementation says to all the probes.
struct Answers {
  std::vector<std::string> answers;
  std::set<std::string> reasons;

  explicit Answers(const Implementation& implementation) {
    for (const Probe& probe : probes()) {
      const Support forward = implementation.supports_forward(probe.problem);
      const Support backward = implementation.supports_backward(probe.problem);
      for (const Support& support : {forward, backward})
        if (!support) reasons.insert(support.reason());
      answers.push_back(answer(forward, backward));
    }
  }
  bool operator==(const Answers&) const = default;
};

std::string describe(const Properties& properties) {
  std::string text = properties.materialised ? "rounds S and P to the problem's type, to store them"
                                             : "keeps S and P in the type it computes in";
  if (properties.nan_spreads_within)
    text += "; NaN may spread within tiles of " +
            std::to_string(properties.nan_spreads_within->rows) + " × " +
            std::to_string(properties.nan_spreads_within->columns);
  text += "; repeatable: O, LSE";
  if (properties.deterministic_dq) text += ", dQ";
  if (properties.deterministic_dkv) text += ", dK, dV";
  return text;
}

/// Implementations that answer alike share a column, which has a letter.
void print_tables(const Implementations& all) {
  std::vector<Answers> columns;
  for (const auto& implementation : all) {
    const Answers answers(*implementation);
    auto column = std::find(columns.begin(), columns.end(), answers);
    if (column == columns.end()) column = columns.insert(column, answers);
    std::cout << static_cast<char>('A' + (column - columns.begin())) << "  "
              << implementation->name() << ": " << describe(implementation->properties()) << "\n";
  }

  std::vector<std::vector<std::string>> rows = {{"takes"}};
  for (const Probe& probe : probes()) rows.push_back({probe.option});
  std::string refusals;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::string letter(1, static_cast<char>('A' + c));
    rows[0].push_back(letter);
    for (std::size_t i = 0; i < columns[c].answers.size(); ++i)
      rows[i + 1].push_back(columns[c].answers[i]);
    for (const std::string& reason : columns[c].reasons)
      refusals += "\n" + letter + " refuses: " + reason + "\n";
  }
  std::cout << "\n" << table(rows) << refusals;
}

json as_json(const Support& support) {
  return support ? json{{"supported", true}}
                 : json{{"supported", false}, {"reason", support.reason()}};
}

json as_json(const Properties& properties) {
  json out = {{"materialised", properties.materialised},
              {"eps_exp", properties.eps_exp},
              {"eps_tanh", properties.eps_tanh},
              {"nan_spreads_within", nullptr},
              {"deterministic_dq", properties.deterministic_dq},
              {"deterministic_dkv", properties.deterministic_dkv}};
  if (properties.nan_spreads_within)
    out["nan_spreads_within"] = {{"rows", properties.nan_spreads_within->rows},
                                 {"columns", properties.nan_spreads_within->columns}};
  return out;
}

json as_json(const Implementation& implementation) {
  json options = json::object();
  for (const Probe& probe : probes())
    options[probe.option] = {
        {"forward", as_json(implementation.supports_forward(probe.problem))},
        {"backward", as_json(implementation.supports_backward(probe.problem))}};
  return {{"name", implementation.name()},
          {"properties", as_json(implementation.properties())},
          {"options", options}};
}

/// Everything in C++, and the kernels on the emulator: a GPU's take the same.
Implementations everything() {
  Implementations all = implementations();
  for (auto& kernel : kernels_on(Machine::cpu)) all.push_back(std::move(kernel));
  return all;
}

void print_machines() {
  const Gpu gpu = find_gpu();
  std::cout << "\nKernels called …@cpu run on the emulator. The same on a GPU, …@gpu: --on gpu.\n"
            << (gpu.missing.empty() ? "GPU: " + gpu.name + ", sm_" + std::to_string(gpu.capability)
                                    : "GPU: none: " + gpu.missing)
            << ".\n";
}

void list(bool wants_json) {
  const Implementations all = everything();
  if (!wants_json) {
    print_tables(all);
    return print_machines();
  }
  json out = json::array();
  for (const auto& implementation : all) out.push_back(as_json(*implementation));
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("list", "the implementations and what each takes");
  auto wants_json = std::make_shared<bool>(false);
  verb->add_flag("--json", *wants_json, "for programs");
  verb->callback([wants_json] { list(*wants_json); });
}

}  // namespace flashbook
