#include "walkthrough/number_table.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "walkthrough/numbers.hpp"

namespace flashbook {
namespace {

constexpr const char* indent = "  ";
constexpr std::size_t columns = 80;

std::string spaces(const std::string& text, std::size_t width) {
  const std::size_t used = width_of(text);
  std::string out;
  out.resize(width > used ? width - used : 0, ' ');
  return out;
}

/// The lines of one matrix, its name above, all of one width.
std::vector<std::string> lines_of(const NamedMatrix& matrix, int decimals) {
  const Matrix<double>& M = matrix.values;
  std::size_t cell = 0;
  for (Index i = 0; i < M.rows(); ++i)
    for (Index j = 0; j < M.cols(); ++j) cell = std::max(cell, fixed(M(i, j), decimals).size());
  std::vector<std::string> lines = {matrix.name};
  for (Index i = 0; i < M.rows(); ++i) {
    std::string line;
    for (Index j = 0; j < M.cols(); ++j)
      line.append(j == 0 ? "" : " ").append(right(fixed(M(i, j), decimals), cell));
    lines.push_back(line);
  }
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, width_of(line));
  for (std::string& line : lines) line = right(line, width);
  return lines;
}

void trim(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string right(const std::string& text, std::size_t width) {
  return spaces(text, width).append(text);
}

std::string left(const std::string& text, std::size_t width) {
  return std::string(text).append(spaces(text, width));
}

std::string paragraph(const std::string& head, const std::string& text) {
  std::istringstream words(text);
  std::string out, line = head;
  for (std::string word; words >> word; line += word + " ") {
    if (width_of(line) + width_of(word) <= columns) continue;
    trim(line);
    out += line + "\n";
    line = left("", width_of(head));
  }
  trim(line);
  return out + line + "\n";
}

std::string side_by_side(const std::vector<NamedMatrix>& matrices, int decimals) {
  std::vector<std::string> lines;
  std::size_t used = 0;  // width of what already stands on every line
  for (const NamedMatrix& matrix : matrices) {
    const std::vector<std::string> block = lines_of(matrix, decimals);
    lines.resize(std::max(lines.size(), block.size()));
    for (std::size_t row = 0; row < block.size(); ++row)
      lines[row] = left(lines[row], used) + indent + " " + block[row];
    used += 3 + width_of(block.front());
  }
  std::string out;
  for (std::string& line : lines) {
    trim(line);
    out += line + "\n";
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], width_of(row[column]));
  const std::size_t all = std::accumulate(widths.begin(), widths.end(), 2 * widths.size());
  const std::string gap = all > columns ? " " : "  ";
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t column = 0; column < row.size(); ++column)
      line += column == 0 ? left(row[column], widths[column])
                          : gap + right(row[column], widths[column]);
    trim(line);
    out += line + "\n";
  }
  return out;
}

}  // namespace flashbook
