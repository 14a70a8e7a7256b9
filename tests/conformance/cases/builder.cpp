#include "tests/conformance/cases/builder.hpp"

#include <algorithm>
#include <sstream>

namespace flashbook::conformance {

std::string merged(const std::string& first, const std::string& second) {
  const auto key_of = [](const std::string& word) { return word.substr(0, word.find('=')); };
  std::vector<std::string> words;
  std::istringstream in(first + ' ' + second);
  for (std::string word; in >> word;) {
    const auto same = std::find_if(words.begin(), words.end(), [&](const std::string& other) {
      return key_of(other) == key_of(word);
    });
    if (same != words.end())
      *same = word;
    else
      words.push_back(word);
  }
  std::string line;
  for (const std::string& word : words) line += word + ' ';
  return line;
}

void Builder::add(const std::string& kind, const Named& what, const char* dtype) {
  cases.push_back({kind + '/' + what.name + '/' + dtype,
                   parse_problem(merged(std::string("dtype=") + dtype, what.words))});
}

void Builder::add_point(const std::string& kind, const Named& what) {
  add(kind, what, is_fp16_next_ ? "fp16" : "bf16");
  add(kind, what, "fp32");
  is_fp16_next_ = !is_fp16_next_;
}

}  // namespace flashbook::conformance
