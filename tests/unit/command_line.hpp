#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cpu_reference/npy.hpp"

/// Runs the real program, as a user would, in a scratch folder of its own.
namespace flashbook::test {

struct Run {
  int status;
  std::string out, err;
};

/// A folder that is removed at the end; commands run inside it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Runs `flashbook arguments` through the shell.
  Run flashbook(const std::string& arguments) const;
  Run shell(const std::string& command) const;
  /// The same on a terminal of its own: `keys` are pressed once it has written `when`. What it
  /// writes, and the terminal echoes, is in `out`.
  Run on_terminal(const std::string& arguments, const std::string& when,
                  const std::string& keys) const;
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Saves a tensor of distinct values around 0; the element type is fp32 unless given.
  void save(const std::string& name, std::vector<std::int64_t> shape,
            NpyType type = NpyType::fp32) const;
  void save_offsets(const std::string& name, const std::vector<std::int64_t>& offsets) const;
  void save_text(const std::string& name, const std::string& text) const;
  /// Sorted names of everything in the folder, subfolders included.
  std::vector<std::string> listing() const;

 private:
  std::filesystem::path folder_;
};

/// The text in one line, with one blank where there were several or a line ended.
std::string squeezed(const std::string& text);

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Characters of the longest line: bytes that do not continue a UTF-8 sequence.
long widest_line(const std::string& text);

/// What `flashbook arguments --json` prints, which must succeed.
std::string json_of(const std::string& arguments);

/// `arguments` end in one sentence that holds each of `parts`, status 2, and nothing written.
void check_refused(const Scratch& scratch, const std::string& arguments,
                   const std::vector<std::string>& parts);

}  // namespace flashbook::test
