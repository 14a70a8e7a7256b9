#include "walkthrough/usage_error.hpp"

#include <CLI/CLI.hpp>
#include <regex>

namespace flashbook {
namespace {

/// What CLI11 says, and what we do.
struct Phrase {
  const char *theirs, *ours;
};

constexpr Phrase phrases[] = {
    {"Could not convert: (\\S+) = (.*)",
     "$1 is '$2': pass a number, whole where it counts things; what only switches takes no value"},
    {"(\\S+): Value (.*) not in range (\\S+) to (\\S+)", "$1 is '$2': pass a number from $3 to $4"},
    {"(\\S+): (.*) not in \\{(.*)\\}", "$1 is '$2': pass one of $3"},
    {"(\\S+): At Most 1 required but received ([0-9]+)", "$1 is given $2 times: give it once"},
    {"(\\S+): 1 required \\S+ missing", "$1 has no value: give it one, or leave it out"},
};

/// std::to_string gives every number six digits behind the point.
std::string without_zeros(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("(\\.[0-9]*[1-9])0+\\b"), "$1"),
                            std::regex("\\.0+\\b"), "");
}

}  // namespace

std::string usage_error(const CLI::ParseError& error) {
  const std::string text = error.what();
  for (const Phrase& phrase : phrases) {
    const std::regex pattern(phrase.theirs);
    if (std::regex_match(text, pattern))
      return std::regex_replace(without_zeros(text), pattern, phrase.ours);
  }
  return text;
}

}  // namespace flashbook
