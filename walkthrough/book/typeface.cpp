#include "walkthrough/book/typeface.hpp"

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
      return "36";
    case Face::link:
      return "4";
  }
  return "";
}

/// The first byte after so many characters.
std::size_t bytes_of(const std::string& text, int characters) {
  std::size_t byte = 0;
  while (byte < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[byte]) & 0xC0u) != 0x80u;
    if (begins && characters-- == 0) break;
    ++byte;
  }
  return byte;
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
  std::vector<std::string> parts;
  std::string rest = line;
  while (columns_of(rest) > columns) {
    const std::size_t cut = bytes_of(rest, columns);
    parts.push_back(rest.substr(0, cut));
    rest = "↪ " + rest.substr(cut);
  }
  parts.push_back(rest);
  return parts;
}

}  // namespace flashbook::book
