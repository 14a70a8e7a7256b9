// The ladder's figures are those of their source: of docs/performance.md, where they were
// measured, and of the head comments of the rungs, where they were predicted.
#include "walkthrough/ladder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iomanip>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace flashbook {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(std::string(FLASHBOOK_SOURCE) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  REQUIRE_MESSAGE(in, path);
  return text.str();
}

/// The cells of a table's row without blanks around them.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

/// The rows of the first table below a heading, without its two lines of heading.
std::vector<std::vector<std::string>> table_below(const std::string& text,
                                                  const std::string& heading) {
  std::istringstream in(text.substr(text.find("\n" + heading + "\n")));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind('|', 0) == 0)
      rows.push_back(cells_of(line));
    else if (!rows.empty())
      break;
  }
  REQUIRE(rows.size() > 2);
  return {rows.begin() + 2, rows.end()};
}

double number(const std::string& cell) {
  return cell.empty() ? 0 : std::stod(cell);
}

/// Whether a text has the number, as 1.1 or 1.10.
bool names(const std::string& text, double value) {
  std::ostringstream digits;
  digits << std::fixed << std::setprecision(2) << value;
  std::string pattern = std::regex_replace(digits.str(), std::regex("\\."), "\\.");
  if (pattern.back() == '0') pattern += "?";
  return std::regex_search(text, std::regex("(^|[^\\d.])" + pattern + "(?!\\d)"));
}

}  // namespace

TEST_CASE("ladder: what was measured is the table of docs/performance.md") {
  const auto rows =
      table_below(text_of("docs/performance.md"), "## The FlashAttention-2 ladder on an H200");
  REQUIRE(rows.size() == fa2_ladder().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LadderRung& rung = fa2_ladder()[i];
    const std::vector<std::string>& row =
        rows[i];  // rung, idea, predicted, d = 64, d = 128, causal
    CAPTURE(rung.name);
    REQUIRE(row.size() == 8);
    CHECK(row[0] == rung.name);
    CHECK(number(row[2]) == rung.predicted);
    CHECK(number(row[3]) == rung.d64.times);
    CHECK(number(row[4]) == rung.d64.tflops);
    CHECK(number(row[5]) == rung.d128.times);
    CHECK(number(row[6]) == rung.d128.tflops);
    CHECK(number(row[7]) == rung.causal);
  }
}

TEST_CASE("ladder: what was measured of the Hopper rungs is the table of docs/performance.md") {
  const auto rows = table_below(text_of("docs/performance.md"), "## The Hopper ladder");
  REQUIRE(rows.size() >= hopper_ladder().size());
  for (std::size_t i = 0; i < hopper_ladder().size(); ++i) {
    const HopperRung& rung = hopper_ladder()[i];
    const std::vector<std::string>& row = rows[i];  // rung, idea, predicted, gain, d = 64, 128, 256
    CAPTURE(rung.name);
    REQUIRE(row.size() == 7);
    CHECK(row[0] == rung.name);
    CHECK(number(row[2]) == rung.predicted);
    CHECK(number(row[3]) == rung.gain);
    CHECK(number(row[4]) == rung.d64);  // before the comma; causal is behind it
    CHECK(number(row[5]) == rung.d128);
    CHECK(number(row[6]) == rung.d256);
  }
}

TEST_CASE("ladder: what was predicted is in the head comment of the rung, and what came of it") {
  for (const LadderRung& rung : fa2_ladder().subspan(1)) {
    CAPTURE(rung.name);
    const std::string source = text_of("cuda/forward/" + std::string(rung.name) + ".cuh");
    const std::string head = source.substr(0, source.find("#pragma once"));
    const std::size_t predicted = head.find("// Predicted against");
    REQUIRE(predicted != std::string::npos);
    const std::string prediction = head.substr(predicted);
    CHECK(names(prediction, rung.predicted));
    CHECK((names(prediction, rung.d64.times) || names(prediction, rung.d128.times)));
  }
}

TEST_CASE("ladder: gains are the ratios of the rates, to their rounding") {
  const LadderRung* before = nullptr;
  for (const LadderRung& rung : fa2_ladder()) {
    CAPTURE(rung.name);
    if (before != nullptr) {
      CHECK(rung.d64.times ==
            doctest::Approx(1. * rung.d64.tflops / before->d64.tflops).epsilon(.01));
      CHECK(rung.d128.times ==
            doctest::Approx(1. * rung.d128.tflops / before->d128.tflops).epsilon(.01));
    }
    before = &rung;
  }
}

}  // namespace flashbook
