#pragma once

#include <string>
#include <vector>

namespace flashbook::book {

/// A paragraph, a listing, a row of things: what stands between blank lines.
struct Block {
  enum class Kind { heading, paragraph, quote, item, table, code, picture };
  Kind kind;
  int level = 0;      ///< of a heading; how deep an item lies, from 0
  std::string text;   ///< prose, its lines joined; what a picture shows; the language of code
  std::string label;  ///< an item's mark, a picture's file, where code comes from
  /// Code as it is; rows of a table, the ruling row left out; the command that draws a picture.
  std::vector<std::string> lines;
};

/// The part of Markdown that the pages use: headings with #, paragraphs, quotes, lists with - or
/// numbers, tables, fenced code, pictures on a line of their own. A comment is left out; one that
/// says where the code below comes from becomes its label.
std::vector<Block> parse_markdown(const std::string& text);

/// The cells of a table's row, without the bars.
std::vector<std::string> cells_of(const std::string& row);

}  // namespace flashbook::book
