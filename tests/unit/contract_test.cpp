#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cpu_reference/attention_problem.hpp"

namespace flashbook {
namespace {

/// A fenced block of docs/contract.md: "```mask n_q=2 n_k=5 causal bottom-right" and its rows.
struct MaskTable {
  std::string title, rows;
};

std::vector<MaskTable> tables_in_contract() {
  std::ifstream in(FLASHBOOK_SOURCE "/docs/contract.md");
  std::vector<MaskTable> tables;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```mask ", 0) == 0) {
      tables.push_back({line.substr(8), ""});
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      tables.back().rows += line + "\n";
    }
  }
  return tables;
}

std::int64_t number_after(const std::string& text, const std::string& key) {
  return std::stoll(text.substr(text.find(key) + key.size()));
}

AttentionProblem problem_of(const std::string& title) {
  flashbook_problem p =
      dense_problem(1, 1, 1, number_after(title, "n_q="), number_after(title, "n_k="), 1, 1);
  p.causal = title.find("causal") != std::string::npos;
  if (title.find("top-left") != std::string::npos) p.alignment = FLASHBOOK_TOP_LEFT;
  if (title.find("window=") != std::string::npos) {
    p.window_left = number_after(title, "window=");
    p.window_right = number_after(title.substr(title.find("window=")), ",");
  }
  return AttentionProblem(p);
}

std::string visible_rows(const AttentionProblem& problem) {
  std::ostringstream rows;
  for (std::int64_t i = 0; i < problem->n_q; ++i)
    for (std::int64_t j = 0; j < problem->n_k; ++j)
      rows << problem.visible(problem.member(0), i, j) << (j + 1 < problem->n_k ? " " : "\n");
  return rows.str();
}

TEST_CASE("the masks printed in docs/contract.md are what the oracle sees") {
  const std::vector<MaskTable> tables = tables_in_contract();
  CHECK(tables.size() >= 6);
  for (const MaskTable& table : tables) {
    CAPTURE(table.title);
    CHECK(visible_rows(problem_of(table.title)) == table.rows);
  }
}

}  // namespace
}  // namespace flashbook
