#pragma once

#include <string>

namespace flashbook::plugin {

/// What is loaded of the file that a reader names: the file itself or, of a source in C, C++ or
/// CUDA (.c, .cpp, .cu), a shared library that is compiled here and removed in the end.
class Library {
 public:
  /// Throws InputError: there is no such file, or what the compiler said.
  explicit Library(const std::string& file);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_, folder_;  // of the compiled one; empty: nothing was
};

}  // namespace flashbook::plugin
