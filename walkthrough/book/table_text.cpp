#include "walkthrough/book/table_text.hpp"

#include <algorithm>
#include <numeric>

#include "walkthrough/book/markdown.hpp"
#include "walkthrough/book/typeface.hpp"

namespace flashbook::book {
namespace {

constexpr int gap = 2;  // between columns, and before the first

using Cell = std::vector<Word>;
using Row = std::vector<Cell>;

int columns_of(const Cell& cell) {
  int columns = 0;
  for (const Word& word : cell) columns += book::columns_of(word) + (columns > 0 ? 1 : 0);
  return columns;
}

/// Each column as wide as its widest cell; then the widest of those that have blanks to break at
/// give way until all fit. A column is never narrower than its longest word.
std::vector<int> widths_of(const std::vector<Row>& rows, int columns) {
  std::vector<int> widths(rows.front().size()), longest_words(widths.size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
      for (const Word& word : row[i])
        longest_words[i] = std::max(longest_words[i], book::columns_of(word));
    }
  int excess = std::accumulate(widths.begin(), widths.end(), 0) +
               gap * static_cast<int>(widths.size()) - columns;
  for (; excess > 0; --excess) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > longest_words[i] && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

void append_row(const Row& row, const std::vector<int>& widths, const Typeface& face, Lines& out) {
  std::vector<std::vector<Cell>> cells;  // by column, by line
  std::size_t height = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    cells.push_back(wrapped(row[i], widths[i]));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    int missing = 0;  // columns, before the next cell
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Cell cell = line < cells[i].size() ? cells[i][line] : Cell{};
      if (!cell.empty()) {
        text += std::string(static_cast<std::size_t>(missing + gap), ' ') + face(cell);
        missing = -columns_of(cell) - gap;
      }
      missing += widths[i] + gap;
    }
    out.push_back(text);
  }
}

}  // namespace

Lines table_lines(const std::vector<std::string>& rows, const Look& look,
                  std::vector<Link>& links) {
  std::vector<Row> table;
  for (const std::string& row : rows) {
    table.emplace_back();
    for (const std::string& cell : cells_of(row)) table.back().push_back(words_of(cell, links));
  }
  const std::vector<int> widths = widths_of(table, look.columns);
  const Typeface face(look.faces);
  Lines lines;
  for (Row& row : table) {
    row.resize(widths.size());
    append_row(row, widths, face, lines);
    if (lines.size() == 1 || &row == &table.front()) {
      const int total = std::accumulate(widths.begin(), widths.end(), 0) +
                        gap * (static_cast<int>(widths.size()) - 1);
      lines.push_back("  " + face.faint(repeated("─", total)));
    }
  }
  return lines;
}

}  // namespace flashbook::book
