#pragma once

#include <optional>
#include <string>

#include "walkthrough/temporary_folder.hpp"

namespace flashbook::plugin {

/// What is loaded of the file that a reader names: the file itself or, of a source in C, C++ or
/// CUDA (.c, .cc, .cpp, .cu), a shared library that is compiled here and removed in the end.
class Library {
 public:
  /// Throws InputError: there is no such file, or what the compiler said.
  explicit Library(const std::string& file);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<TemporaryFolder> folder_;  // of a compiled one
};

}  // namespace flashbook::plugin
