#include "walkthrough/book/glossary.hpp"

#include <algorithm>
#include <cctype>

namespace flashbook::book {
namespace {

constexpr const char* heading = "\n## ";

/// As links spell it: small letters, dashes for spaces.
std::string spelled(std::string text) {
  for (char& c : text)
    c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string glossary_entries(const std::string& glossary, const std::string& term) {
  std::string holding;
  for (std::size_t at = glossary.find(heading); at != std::string::npos;) {
    const std::size_t next = glossary.find(heading, at + 1);
    std::string entry = glossary.substr(at + 1, next - at);
    const std::string name = spelled(entry.substr(3, entry.find('\n') - 3));
    if (name == spelled(term)) return entry;
    if (name.find(spelled(term)) != std::string::npos) holding += entry;
    at = next;
  }
  return holding;
}

}  // namespace flashbook::book
