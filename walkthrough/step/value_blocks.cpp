#include "walkthrough/step/value_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/io/online_softmax.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook::step {
namespace {

constexpr std::size_t screen_width = 80, gap = 3;
constexpr Index most_whole = 8, shown_if_cut = 4;  // rows, and columns

bool is_cut(Index n) {
  return n > most_whole;
}

Index shown_of(Index n) {
  return is_cut(n) ? shown_if_cut : n;
}

/// Values of pairs: where S is −∞ nobody sees the key.
bool is_of_pairs(const std::string& name) {
  constexpr std::array<std::string_view, 4> names = {"S", "P", "dP", "dS"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> cells_of(const io::Step::Shown& shown, const Matrix<float>* S, Index i) {
  const Matrix<float>& values = shown.values;
  const bool of_pairs = S != nullptr && is_of_pairs(shown.name());
  std::vector<std::string> cells;
  for (Index j = 0; j < shown_of(values.cols()); ++j)
    cells.push_back(of_pairs && (*S)(i, j) == io::minus_infinity
                        ? "·"
                        : number_text(static_cast<double>(values(i, j))));
  return cells;
}

std::string heading_of(const io::Step::Shown& shown) {
  const Index rows = shown.values.rows(), columns = shown.values.cols();
  if (!is_cut(rows) && !is_cut(columns)) return shown.equation;
  const std::string size = columns == 1 ? "" : ", " + std::to_string(columns);
  return shown.equation + "  [" + std::to_string(rows) + size + "]";
}

}  // namespace

std::string number_text(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "∞" : "−∞";
  return std::abs(x) < 1e5 ? fixed(x, 3) : short_number(x);
}

Block block_of(const io::Step::Shown& shown, const Matrix<float>* S) {
  std::vector<std::vector<std::string>> rows;
  std::size_t cell = 1;
  for (Index i = 0; i < shown_of(shown.values.rows()); ++i) {
    rows.push_back(cells_of(shown, S, i));
    for (const std::string& text : rows.back()) cell = std::max(cell, width_of(text));
  }
  Block block = {heading_of(shown)};
  for (const auto& row : rows) {
    std::string line;
    for (const std::string& text : row)
      line.append(line.empty() ? "" : " ").append(right(text, cell));
    if (is_cut(shown.values.cols())) line += " …";
    block.push_back(line);
  }
  if (is_cut(shown.values.rows())) block.push_back(right("⋮", cell));
  return block;
}

std::vector<Block> in_rows(const std::vector<Block>& blocks) {
  std::vector<Block> rows;
  std::size_t used = screen_width;  // of the current row: a new one begins
  for (const Block& block : blocks) {
    std::size_t width = 0;
    for (const std::string& line : block) width = std::max(width, width_of(line));
    if (used + gap + width > screen_width) {
      rows.emplace_back();
      used = 0;
    }
    Block& row = rows.back();
    row.resize(std::max(row.size(), block.size()));
    const std::size_t start = used == 0 ? gap - 1 : used + gap;
    for (std::size_t line = 0; line < block.size(); ++line)
      row[line] = flashbook::left(row[line], start) + block[line];
    used = start + width;
  }
  return rows;
}

}  // namespace flashbook::step
