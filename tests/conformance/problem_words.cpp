#include "tests/conformance/problem_words.hpp"

#include <charconv>
#include <cmath>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::conformance {
namespace {

constexpr std::int64_t largest_stride = std::int64_t{1} << 31;

std::string join(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace

Words::Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (given_.count(key)) throw InputError("problem: " + key + " is given twice: give it once");
    if (equals != std::string::npos)
      given_[key] = word.substr(equals + 1);
    else
      given_[key] = std::nullopt;
  }
}

bool Words::flag(const std::string& key) {
  const auto word = given_.find(key);
  if (word == given_.end()) return false;
  if (word->second) refuse(key, *word->second, "nothing: it is a word of its own");
  given_.erase(word);
  return true;
}

std::optional<std::string> Words::take(const std::string& key) {
  const auto word = given_.find(key);
  if (word == given_.end()) return std::nullopt;
  if (!word->second) throw InputError("problem: " + key + " has no value: write " + key + "=…");
  std::optional<std::string> value = std::move(word->second);
  given_.erase(word);
  return value;
}

void Words::refuse_the_rest() const {
  if (given_.empty()) return;
  throw InputError("problem: " + given_.begin()->first +
                   " is no field of a problem: known are b, hq, hkv, nq, nk, d, dv, dtype, "
                   "causal, align, window, scale, softcap, bias, alibi, sinks, dlse, cu_q, cu_k, "
                   "layout, strides_q (k v o do dq dk dv bias), data, do, biasdata, plant");
}

void Words::refuse(const std::string& key, const std::string& value, const std::string& accepted) {
  throw InputError("problem: " + key + " is '" + value + "': it takes " + accepted);
}

std::int64_t to_integer(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    Words::refuse(key, text, "whole numbers");
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

void read(Words& words, const char* key, std::int64_t& value) {
  if (const auto text = words.take(key)) value = to_integer(key, *text);
}

void read(Words& words, const char* key, double& value) {
  const auto text = words.take(key);
  if (!text) return;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || !std::isfinite(value))
    Words::refuse(key, *text, "a finite number");
}

int read_choice(Words& words, const char* key, std::span<const std::string_view> names,
                int otherwise) {
  const auto text = words.take(key);
  if (!text) return otherwise;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == *text) return static_cast<int>(i);
  Words::refuse(key, *text, "one of " + join(names));
}

std::vector<std::int64_t> read_list(Words& words, const char* key) {
  std::vector<std::int64_t> list;
  if (const auto text = words.take(key))
    for (const std::string& part : split(*text)) list.push_back(to_integer(key, part));
  return list;
}

void read_strides(Words& words, const char* key, std::span<std::int64_t> strides) {
  const auto text = words.take(key);
  if (!text) return;
  const std::vector<std::string> parts = split(*text);
  if (parts.size() != strides.size())
    Words::refuse(key, *text, std::to_string(strides.size()) + " strides in elements");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    strides[i] = to_integer(key, parts[i]);
    if (strides[i] < -largest_stride || strides[i] > largest_stride)
      Words::refuse(key, *text, "strides up to " + std::to_string(largest_stride));
  }
}

}  // namespace flashbook::conformance
