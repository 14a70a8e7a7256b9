#pragma once

#include <string>
#include <vector>

#include "walkthrough/book/inline_text.hpp"

namespace flashbook::book {

/// Magenta: legible on black and on white, which yellow and cyan are not.
constexpr const char* code_colour = "35";

/// Bold and colours as escape sequences, or nothing at all.
class Typeface {
 public:
  explicit Typeface(bool on) : on_(on) {}

  std::string strong(const std::string& text) const { return in("1", text); }
  std::string faint(const std::string& text) const { return in("2", text); }
  std::string code(const std::string& text) const { return in(code_colour, text); }

  /// The words of one line.
  std::string operator()(const std::vector<Word>& line) const;

 private:
  std::string in(const char* sequence, const std::string& text) const;

  bool on_;
};

std::string repeated(const std::string& text, int times);

/// The line, if longer than that, in parts: those after the first begin with "↪ ". Broken at a
/// space, unless that would leave half of the columns empty.
std::vector<std::string> folded(const std::string& line, int columns);

}  // namespace flashbook::book
