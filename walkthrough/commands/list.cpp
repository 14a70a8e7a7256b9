#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
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
constexpr DType dtypes[] = {DType::fp16, DType::bf16, DType::fp32, DType::fp64};

flashbook_problem plain_problem(DType dtype) {
  flashbook_problem p = dense_problem(1, heads, heads, tokens, tokens, channels, channels);
  p.dtype = static_cast<std::int32_t>(dtype);
  return p;
}

/// Probes of one option each, all else plain.
class Prober {
 public:
  explicit Prober(DType dtype) : dtype_(dtype) {}

  template <class Change>
  Probe operator()(const std::string& option, Change&& change) const {
    flashbook_problem p = plain_problem(dtype_);
    change(p);
    return {option, AttentionProblem(p)};
  }
  Probe shaped(const std::string& option, Index heads_kv, Index d, Index d_v) const {
    flashbook_problem p = dense_problem(1, heads, heads_kv, tokens, tokens, d, d_v);
    p.dtype = static_cast<std::int32_t>(dtype_);
    return {option, AttentionProblem(p)};
  }
  Probe packed() const {
    flashbook_problem p = plain_problem(dtype_);
    p.packed = 1;
    p.members = 2;
    return {"packed sequences", AttentionProblem(p, {0, 3, tokens}, {0, 5, tokens})};
  }

 private:
  DType dtype_;
};

/// A type that the implementation takes: what it says to other options then is about them.
DType taken_dtype(const Implementation& implementation) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16})
    if (implementation.supports_forward(AttentionProblem(plain_problem(dtype)))) return dtype;
  return DType::fp64;
}

std::vector<Probe> probes(const Implementation& implementation) {
  using P = flashbook_problem;
  std::vector<Probe> all;
  for (DType dtype : dtypes)
    all.push_back({std::string(name(dtype)), AttentionProblem(plain_problem(dtype))});
  const Prober probe(taken_dtype(implementation));
  for (Probe& each : std::vector<Probe>{
           probe.shaped("grouped heads", 2, channels, channels),
           probe.shaped("d ≠ d_v", heads, channels, 8),
           probe.shaped("rows off 16 bytes", heads, 12, 12),
           probe.packed(),
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
       })
    all.push_back(std::move(each));
  return all;
}

std::string answer(const Support& forward, const Support& backward) {
  if (forward && backward) return "yes";
  return forward ? "forward" : "no";
}

/// What an implementation says to all the probes.
struct Answers {
  std::vector<std::string> options, answers;
  std::set<std::string> reasons;

  explicit Answers(const Implementation& implementation) {
    for (const Probe& probe : probes(implementation)) {
      const Support forward = implementation.supports_forward(probe.problem);
      const Support backward = implementation.supports_backward(probe.problem);
      for (const Support& support : {forward, backward})
        if (!support) reasons.insert(support.reason());
      options.push_back(probe.option);
      answers.push_back(answer(forward, backward));
    }
  }
  bool operator==(const Answers&) const = default;
};

using Rows = std::vector<std::vector<std::string>>;

std::string letter(std::size_t column) {
  return {static_cast<char>('A' + column)};
}

std::vector<std::string> described(const Implementation& implementation,
                                   const std::string& column) {
  const Properties properties = implementation.properties();
  const auto& tile = properties.nan_spreads_within;
  return {implementation.name(), column, properties.materialised ? "yes" : "no",
          tile ? std::to_string(tile->rows) + " × " + std::to_string(tile->columns) : "–",
          properties.deterministic_dq && properties.deterministic_dkv ? "yes"
          : properties.deterministic_dkv                              ? "but for dQ"
          : properties.deterministic_dq                               ? "but for dK, dV"
                                                                      : "O, LSE"};
}

/// Each reason once, behind the letters of the columns that give it.
void print_refusals(const std::vector<Answers>& columns) {
  std::map<std::string, std::string> letters;
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (const std::string& reason : columns[c].reasons) letters[reason] += letter(c);
  std::cout << "\nRefused:\n";
  for (const auto& [reason, of] : letters)
    std::cout << paragraph("  " + left(of, columns.size()) + "  ", reason);
}

/// Implementations that answer alike share a column, which has a letter.
void print_tables(const Implementations& all) {
  std::vector<Answers> columns;
  Rows names = {{"implementation", "column", "stores S, P", "NaN spreads", "repeats"}};
  for (const auto& implementation : all) {
    const Answers answers(*implementation);
    auto column = std::find(columns.begin(), columns.end(), answers);
    if (column == columns.end()) column = columns.insert(column, answers);
    names.push_back(
        described(*implementation, letter(static_cast<std::size_t>(column - columns.begin()))));
  }
  std::cout << table(names)
            << "stores S, P: rounds them to the problem's type. NaN spreads: within tiles of S\n"
               "of so many rows × keys. repeats: bit for bit.\n\n";

  Rows taken = {{"takes"}};
  for (const std::string& option : columns.front().options) taken.push_back({option});
  for (std::size_t c = 0; c < columns.size(); ++c) {
    taken[0].push_back(letter(c));
    for (std::size_t i = 0; i < columns[c].answers.size(); ++i)
      taken[i + 1].push_back(columns[c].answers[i]);
  }
  std::cout << table(taken);
  print_refusals(columns);
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
  for (const Probe& probe : probes(implementation))
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
            << paragraph("GPU: ", gpu.missing.empty()
                                      ? gpu.name + ", sm_" + std::to_string(gpu.capability) + "."
                                      : "none: " + gpu.missing + ".");
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
