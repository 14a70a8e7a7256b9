#pragma once

#include <string>
#include <vector>

#include "cpu_reference/tensor_view.hpp"
#include "walkthrough/text_width.hpp"

namespace flashbook {

/// The text in so many columns or, if it is longer, its own, at the left or the right of them.
std::string left(const std::string& text, std::size_t width);
std::string right(const std::string& text, std::size_t width);

/// `text` behind `head` in lines of at most 80 columns, those after the first indented as far.
std::string paragraph(const std::string& head, const std::string& text);

/// A matrix with a heading, to stand beside others.
struct NamedMatrix {
  std::string name;
  Matrix<double> values;
};

/// The matrices side by side, `decimals` digits after the point, each line indented.
std::string side_by_side(const std::vector<NamedMatrix>& matrices, int decimals = 3);

/// Rows of cells, columns aligned: the first to the left, the others to the right. The first row is
/// the heading. Two blanks part the columns, or one where the table is else wider than 80 columns.
/// Cells may hold UTF-8.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace flashbook
