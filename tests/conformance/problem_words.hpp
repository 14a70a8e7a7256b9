#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The `key=value` and bare words of a problem's line, read one field at a time. Everything here
/// throws InputError that names the word, its value and what is accepted.
namespace flashbook::conformance {

/// The words of a line, each taken once by the field it belongs to.
class Words {
 public:
  explicit Words(std::string_view text);

  /// Whether the bare word is there.
  bool flag(const std::string& key);
  std::optional<std::string> take(const std::string& key);
  void refuse_the_rest() const;
  [[noreturn]] static void refuse(const std::string& key, const std::string& value,
                                  const std::string& accepted);

 private:
  std::map<std::string, std::optional<std::string>> given_;
};

std::int64_t to_integer(const std::string& key, const std::string& text);
/// The parts between commas.
std::vector<std::string> split(const std::string& text);

// Read what is given, and leave alone what is not.
void read(Words& words, const char* key, std::int64_t& value);
void read(Words& words, const char* key, double& value);
/// As many strides as there are.
void read_strides(Words& words, const char* key, std::span<std::int64_t> strides);
/// One of `names`, as the number of its place; `otherwise` if none is given.
int read_choice(Words& words, const char* key, std::span<const std::string_view> names,
                int otherwise);
std::vector<std::int64_t> read_list(Words& words, const char* key);

}  // namespace flashbook::conformance
