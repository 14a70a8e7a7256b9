#include "walkthrough/text_width.hpp"

#include <algorithm>
#include <sstream>

namespace flashbook {
namespace {

bool begins_a_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
}

}  // namespace

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_a_character));
}

std::size_t bytes_of_first(std::size_t characters, const std::string& text) {
  std::size_t byte = 0;
  for (; byte < text.size(); ++byte)
    if (begins_a_character(text[byte]) && characters-- == 0) break;
  return byte;
}

std::string cut(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  return text.substr(0, bytes_of_first(columns - 1, text)) + "…";
}

std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t columns = 80;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    while (width_of(line) > columns) {
      const std::size_t space = line.rfind(' ', bytes_of_first(columns, line));
      if (space == std::string::npos || line.find_first_not_of(' ') > space) break;  // one word
      out += line.substr(0, space) + "\n";
      line = std::string(indent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace flashbook
