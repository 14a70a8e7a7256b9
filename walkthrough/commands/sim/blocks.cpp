#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/progress.hpp"

namespace flashbook {
namespace {

using namespace sim;
using Json = nlohmann::ordered_json;

/// `sim blocks`: what the user asked for.
struct Question {
  std::optional<Index> sram_bytes, elements;
  std::vector<std::string> algorithms = {"fa1_forward", "fa2_forward", "three_kernel_backward"};
  ProblemOptions problem;
  OutputOptions output;
};

Index sram_of(const Question& q) {
  if (q.sram_bytes.has_value() == q.elements.has_value())
    throw InputError("pass one of --sram and --m: how large the SRAM is, in bytes or in elements");
  const std::string flag = q.sram_bytes ? "--sram" : "--m";
  const Index given = q.sram_bytes.value_or(q.elements.value_or(0));
  check_sram(flag, given);
  return q.sram_bytes ? given : given * bytes_of(dtype_of(q.problem.dtype));
}

/// An algorithm with the best blocks, or with the paper's.
struct Choice {
  const io::Algorithm* algorithm;
  const char* by;  ///< "best" or "paper"
  io::Blocks blocks;
  Index bytes_moved, peak_sram_bytes;
};

Choice choice_of(const io::Algorithm& algorithm, const AttentionProblem& problem, const char* by,
                 const io::Blocks& blocks) {
  const io::Report r = closed_form(algorithm, problem, {blocks});
  return {&algorithm, by, blocks, r.bytes_read() + r.bytes_written(), r.peak_sram_bytes};
}

std::vector<Choice> choices_of(const Question& q, const AttentionProblem& problem, Index sram) {
  std::vector<Choice> choices;
  const Progress progress("trying blocks of");
  for (const io::Algorithm* algorithm : algorithms_called(q.algorithms)) {
    if (!algorithm->takes.blocks)
      refuse("--algorithm", std::string(algorithm->name), "it has no blocks; name another");
    progress.show(std::string(algorithm->name));
    choices.push_back(
        choice_of(*algorithm, problem, "best", best_blocks(*algorithm, problem, sram)));
    choices.push_back(
        choice_of(*algorithm, problem, "paper", clamped(io::paper_blocks(problem, sram), problem)));
  }
  return choices;
}

std::string ratio(Index bytes, Index of) {
  return fixed(static_cast<double>(bytes) / static_cast<double>(of), 3) + " M";
}

std::string table_of(const std::vector<Choice>& choices, Index sram) {
  std::vector<std::vector<std::string>> rows = {
      {"algorithm", "blocks", "B_r × B_c", "moved", "peak", "of M", ""}};
  for (const Choice& c : choices)
    rows.push_back({std::string(c.algorithm->name), c.by, text_of(c.blocks),
                    short_bytes(c.bytes_moved), short_bytes(c.peak_sram_bytes),
                    ratio(c.peak_sram_bytes, sram),
                    c.peak_sram_bytes <= sram ? "fits" : "too large"});
  return table(rows);
}

/// Why the paper's blocks fit or do not: what they plan for, what comes on top, and in how many
/// bytes.
std::string reason_in_words(const std::vector<io::ResidentTile>& tiles, Index sram,
                            Index element_bytes) {
  Index planned = 0, others = 0;
  std::string wider;
  for (const io::ResidentTile& t : tiles) {
    const bool is_planned =
        t.name == "K" || t.name == "V" || t.name == "Q" || t.name == "O" || t.name == "O_partial";
    (is_planned ? planned : others) += t.bytes;
    if (t.bytes > element_bytes * t.rows * t.columns) wider += (wider.empty() ? "" : ", ") + t.name;
  }
  std::string text = planned + others <= sram ? "They fit" : "They do not fit";
  text += ": K, V, Q and O are " + ratio(planned, sram) + ", the others " + ratio(others, sram);
  if (!wider.empty())
    text += ".\nM counts elements of " + std::to_string(element_bytes) +
            " bytes, and these have more: " + wider;
  return text + ".\n";
}

/// What the paper's blocks make resident, tile by tile, of the first algorithm.
std::string paper_in_words(const std::vector<io::ResidentTile>& tiles, const Choice& paper,
                           Index sram, Index element_bytes) {
  std::vector<std::vector<std::string>> rows = {{"tile", "rows × columns", "bytes", "of M"}};
  for (const io::ResidentTile& t : tiles)
    rows.push_back(
        {t.name, text_of({t.rows, t.columns}), std::to_string(t.bytes), ratio(t.bytes, sram)});
  rows.push_back(
      {"all", "", std::to_string(paper.peak_sram_bytes), ratio(paper.peak_sram_bytes, sram)});
  return "\nThe paper's blocks, B_c = ⌈M/4d⌉ and B_r = min(B_c, d), give K, V, Q and O\nat most a "
         "quarter of M each and leave nothing for S. What " +
         std::string(paper.algorithm->name) + " holds:\n\n" + table(rows) + "\n" +
         reason_in_words(tiles, sram, element_bytes);
}

Records records_of(const std::vector<Choice>& choices, Index sram) {
  Records records = {{"algorithm", "blocks", "br", "bc", "source", "bytes_moved", "peak_sram_bytes",
                      "sram_bytes", "fits"},
                     {}};
  for (const Choice& c : choices)
    records.rows.push_back({c.algorithm->name, c.by, c.blocks.rows, c.blocks.columns, "closed form",
                            c.bytes_moved, c.peak_sram_bytes, sram, c.peak_sram_bytes <= sram});
  return records;
}

Json tiles_json(const std::vector<io::ResidentTile>& tiles) {
  Json out = Json::array();
  for (const io::ResidentTile& t : tiles)
    out.push_back({{"tile", t.name}, {"rows", t.rows}, {"columns", t.columns}, {"bytes", t.bytes}});
  return out;
}

void blocks(const Question& q) {
  const AttentionProblem problem = q.problem.problem();
  const Index sram = sram_of(q);
  q.output.check();
  const std::vector<Choice> choices = choices_of(q, problem, sram);
  const auto paper = std::find_if(choices.begin(), choices.end(),
                                  [](const Choice& c) { return c.by == std::string("paper"); });
  const auto tiles = resident_tiles(*paper->algorithm, problem, paper->blocks);
  const Records records = records_of(choices, sram);
  q.output.write(records);
  if (q.output.json) {
    const Json out = {{"sram_bytes", sram},       {"n", q.problem.n},
                      {"d", q.problem.d},         {"dtype", q.problem.dtype},
                      {"rows", as_json(records)}, {"paper_tiles", tiles_json(tiles)}};
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << "M = " << sram << " bytes of SRAM, " << sram / bytes_of(dtype_of(q.problem.dtype))
            << " elements in " << q.problem.dtype << ".\n"
            << q.problem.text() << "; bytes moved are from closed forms.\n\n"
            << table_of(choices, sram);
  if (!tiles.empty()) std::cout << paper_in_words(tiles, *paper, sram, bytes_of(problem.dtype()));
}

}  // namespace

void add_sim_blocks(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "blocks", "the best tile for an SRAM, and why the paper's own choice may not fit");
  const auto q = std::make_shared<Question>();
  verb->add_option("--sram", q->sram_bytes, "bytes of SRAM of a worker");
  verb->add_option("--m", q->elements, "the same in elements of --dtype: the papers' M");
  verb->add_option("--algorithm", q->algorithms, "one or more of those with blocks, with commas")
      ->delimiter(',')
      ->capture_default_str();
  q->problem.add_to(*verb, false);
  q->output.add_to(*verb, false);
  verb->callback([q] { blocks(*q); });
}

}  // namespace flashbook
