#include "walkthrough/book/render.hpp"

#include <algorithm>

#include "walkthrough/book/inline_text.hpp"
#include "walkthrough/book/link_list.hpp"
#include "walkthrough/book/markdown.hpp"
#include "walkthrough/book/screens.hpp"
#include "walkthrough/book/table_text.hpp"
#include "walkthrough/book/typeface.hpp"

namespace flashbook::book {
namespace {

class Renderer {
 public:
  explicit Renderer(const Look& look) : look_(look), face_(look.faces) {}

  Lines operator()(const Block& block) {
    switch (block.kind) {
      case Block::Kind::heading:
        return heading(block);
      case Block::Kind::paragraph:
        return prose(block.text, "", "");
      case Block::Kind::quote:
        return prose(block.text, "  ", "  ");
      case Block::Kind::item:
        return item(block);
      case Block::Kind::table:
        return table_lines(block.lines, look_, links_);
      case Block::Kind::code:
        return code(block);
      case Block::Kind::picture:
        return picture(block);
    }
    return {};
  }

  const std::vector<Link>& links() const { return links_; }

 private:
  Lines prose(const std::string& text, const std::string& first, const std::string& others) {
    const int columns = look_.columns - columns_of(others);
    Lines lines;
    for (const std::vector<Word>& line : wrapped(words_of(text, links_), columns))
      lines.push_back((lines.empty() ? first : others) + face_(line));
    return lines;
  }

  Lines heading(const Block& block) const {
    const std::string text = plain_text(block.text);
    if (block.level > 2) return {face_.strong(text)};
    const std::string rule = repeated(block.level == 1 ? "═" : "─", columns_of(text));
    return {face_.strong(text), face_.faint(rule)};
  }

  Lines item(const Block& block) {
    const std::string margin(static_cast<std::size_t>(2 + 2 * block.level), ' ');
    const std::string mark = block.label == "-" ? "•" : block.label;
    const std::string others =
        margin + std::string(static_cast<std::size_t>(columns_of(mark)) + 1, ' ');
    return prose(block.text, margin + mark + " ", others);
  }

  /// What it shows, and the command that draws it in characters.
  Lines picture(const Block& block) {
    const std::string drawn = block.lines.empty() ? "" : " Drawn here by: `" + block.lines[0] + "`";
    return prose("[" + block.label + "] " + block.text + "." + drawn, "  ", "  ");
  }

  /// A listing or an output, between rules. What stands in no file and was printed by no command,
  /// such as a formula, is indented and in the colour of code.
  Lines code(const Block& block) const {
    const bool printed = !block.lines.empty() && is_command(block.lines.front());
    if (!printed && block.label.empty()) return formula(block);
    const std::string above = block.label.empty() ? "──" : "── " + block.label + " ";
    Lines lines = {face_.faint(above + repeated("─", look_.columns - columns_of(above)))};
    for (std::string& line : listing(block)) lines.push_back(std::move(line));
    lines.push_back(face_.faint(repeated("─", look_.columns)));
    return lines;
  }

  static bool is_command(const std::string& line) { return line.rfind("$ ", 0) == 0; }

  /// The lines as they are, commands and what a change adds in bold; those that do not fit go on
  /// below.
  Lines listing(const Block& block) const {
    Lines lines;
    bool command = false;
    for (const std::string& line : block.lines) {
      command = is_command(line) || (command && line.rfind("      ", 0) == 0);
      const bool added = block.text == "diff" && line.rfind('+', 0) == 0;
      const bool gone = block.text == "diff" && line.rfind('-', 0) == 0;
      for (const std::string& part : folded(line, look_.columns))
        lines.push_back(command || added ? face_.strong(part) : gone ? face_.faint(part) : part);
    }
    return lines;
  }

  Lines formula(const Block& block) const {
    const std::string margin = "  ";
    Lines lines;
    for (const std::string& line : block.lines)
      for (const std::string& part : folded(line, look_.columns - columns_of(margin)))
        lines.push_back(margin + face_.code(part));
    return lines;
  }

  Look look_;
  Typeface face_;
  std::vector<Link> links_;
};

}  // namespace

Look look_of_stdout() {
  constexpr int widest = 80;
  return {wants_colour(), is_interactive() ? std::min(widest, terminal_size().columns) : widest};
}

bool is_heading(const Lines& block) {
  return block.size() == 2 &&
         (block[1].find("═══") != std::string::npos || block[1].find("───") != std::string::npos);
}

std::vector<Lines> render(const std::string& markdown, const std::filesystem::path& page,
                          const Look& look) {
  Renderer renderer(look);
  std::vector<Lines> out;
  bool after_item = false;
  for (const Block& block : parse_markdown(markdown)) {
    const bool item = block.kind == Block::Kind::item;
    Lines lines = renderer(block);
    if (item && after_item) {  // a list is one block
      out.back().insert(out.back().end(), lines.begin(), lines.end());
    } else {
      out.push_back(std::move(lines));
    }
    after_item = item;
  }
  Lines links = link_list(renderer.links(), page, look);
  if (!links.empty()) out.push_back(std::move(links));
  return out;
}

}  // namespace flashbook::book
