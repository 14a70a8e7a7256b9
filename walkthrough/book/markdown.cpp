#include "walkthrough/book/markdown.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

namespace flashbook::book {
namespace {

using Kind = Block::Kind;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool is_ruling(const std::string& row) {
  return row.find('-') != std::string::npos && row.find_first_not_of("|:- ") == std::string::npos;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : lines_(lines_of(text)) {}

  std::vector<Block> blocks() {
    while (at_ < lines_.size())
      if (!(take_blank() || take_comment() || take_fence() || take_indented() || take_heading() ||
            take_picture() || take_table() || take_item()))
        take_prose();
    return std::move(blocks_);
  }

 private:
  const std::string& line() const { return lines_[at_]; }
  bool starts(const char* mark) const { return line().rfind(mark, 0) == 0; }

  bool take_blank() {
    if (!trimmed(line()).empty()) return false;
    ++at_;
    return true;
  }

  bool take_comment() {
    if (!starts("<!--")) return false;
    static const std::regex code("<!-- code (.*) -->");
    static const std::regex diff("<!-- diff (\\S+) (\\S+)( : .*)? -->");
    static const std::regex picture("<!-- picture .* : (.*) -->");
    std::smatch match;
    if (std::regex_match(line(), match, code)) source_ = match[1];
    if (std::regex_match(line(), match, diff)) source_ = match[1].str() + " → " + match[2].str();
    if (std::regex_match(line(), match, picture)) source_ = "./book " + match.str(1);
    while (at_ < lines_.size() && line().find("-->") == std::string::npos) ++at_;
    ++at_;
    return true;
  }

  bool take_fence() {
    if (!starts("```")) return false;
    const std::string fence = line().substr(0, line().find_first_not_of('`'));
    Block block = {Kind::code, 0, line().substr(fence.size()), source_, {}};
    source_.clear();
    for (++at_; at_ < lines_.size() && line() != fence; ++at_) block.lines.push_back(line());
    ++at_;
    blocks_.push_back(std::move(block));
    return true;
  }

  /// Code by four spaces.
  bool take_indented() {
    if (!starts("    ")) return false;
    Block block = {Kind::code, 0, "", "", {}};
    for (; at_ < lines_.size() && starts("    "); ++at_) block.lines.push_back(line().substr(4));
    blocks_.push_back(std::move(block));
    return true;
  }

  bool take_heading() {
    const std::size_t level = line().find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line()[level] != ' ') return false;
    blocks_.push_back(
        {Kind::heading, static_cast<int>(level), trimmed(line().substr(level)), "", {}});
    ++at_;
    return true;
  }

  bool take_picture() {
    static const std::regex picture(R"(!\[(.*)\]\((.*)\))");
    std::smatch match;
    if (!std::regex_match(line(), match, picture)) return false;
    blocks_.push_back({Kind::picture, 0, match[1], match[2], {}});
    if (!source_.empty()) blocks_.back().lines.push_back(std::exchange(source_, ""));
    ++at_;
    return true;
  }

  bool take_table() {
    if (!starts("|")) return false;
    Block block = {Kind::table, 0, "", "", {}};
    for (; at_ < lines_.size() && starts("|"); ++at_)
      if (!is_ruling(line())) block.lines.push_back(line());
    blocks_.push_back(std::move(block));
    return true;
  }

  /// "- text" or "2. text", and what is indented below it.
  bool take_item() {
    static const std::regex item(R"(( *)(-|\d+\.) +(.*))");
    std::smatch match;
    if (!std::regex_match(line(), match, item)) return false;
    Block block = {Kind::item, static_cast<int>(match.length(1)) / 2, match[3], match[2], {}};
    for (++at_; at_ < lines_.size() && line().rfind("  ", 0) == 0; ++at_) {
      if (std::regex_match(line(), item)) break;
      block.text += " " + trimmed(line());
    }
    blocks_.push_back(std::move(block));
    return true;
  }

  /// A paragraph or a quote: to the next blank line, or to what begins a block of its own.
  void take_prose() {
    const bool quote = starts(">");
    Block block = {quote ? Kind::quote : Kind::paragraph, 0, "", "", {}};
    do {
      block.text += (block.text.empty() ? "" : " ") + trimmed(line().substr(quote ? 1 : 0));
    } while (++at_ < lines_.size() && goes_on(quote));
    blocks_.push_back(std::move(block));
  }

  bool goes_on(bool quote) const {
    return !trimmed(line()).empty() && starts(">") == quote && !starts("```") && !starts("<!-- ") &&
           !starts("#") && !starts("|") && !starts("- ");
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string source_;  // what the last directive said
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> parse_markdown(const std::string& text) {
  return Parser(text).blocks();
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

}  // namespace flashbook::book
