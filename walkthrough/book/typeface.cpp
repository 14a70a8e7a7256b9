#include "walkthrough/book/typeface.hpp"

#include "walkthrough/text_width.hpp"

namespace flashbook::book {
namespace {

const char* sequence_of(Face face) {
  switch (face) {
    case Face::plain:
      return "";
    case Face::strong:
      return "1";
    case Face::emphasis:
      return "3";
    case Face::code:
      return code_colour;
    case Face::link:
      return "4";
  }
  return "";
}

}  // namespace

std::string Typeface::in(const char* sequence, const std::string& text) const {
  if (!on_ || *sequence == '\0' || text.empty()) return text;
  return std::string("\x1b[") + sequence + "m" + text + "\x1b[0m";
}

std::string Typeface::operator()(const std::vector<Word>& line) const {
  std::string out;
  for (const Word& word : line) {
    if (!out.empty()) out += ' ';
    for (const Fragment& fragment : word) out += in(sequence_of(fragment.face), fragment.text);
  }
  return out;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<std::string> folded(const std::string& line, int columns) {
  const auto most = static_cast<std::size_t>(columns);
  std::vector<std::string> parts;
  std::string rest = line;
  while (width_of(rest) > most) {
    const std::size_t end = bytes_of_first(most, rest), space = rest.rfind(' ', end);
    const bool at_space = space != std::string::npos && space > bytes_of_first(most / 2, rest);
    parts.push_back(rest.substr(0, at_space ? space : end));
    rest = "↪ " + rest.substr(at_space ? space + 1 : end);
  }
  parts.push_back(rest);
  return parts;
}

}  // namespace flashbook::book
