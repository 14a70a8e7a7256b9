#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cpu_reference/npy.hpp"

namespace flashbook {

/// A folder that receives all of its files or, as far as a file system can promise, none: they are
/// staged inside it and then moved to their place. On failure everything made is removed again,
/// folders included.
class OutputFolder {
 public:
  /// Makes nothing yet. Throws InputError naming `argument` if the folder cannot be written.
  OutputFolder(std::string argument, std::filesystem::path folder);

  struct File {
    std::string name;
    NpyArray array;
  };
  /// Returns the paths of what it wrote. Throws InputError.
  std::vector<std::string> write(const std::vector<File>& files) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;

  std::string argument_;
  std::filesystem::path folder_;
};

}  // namespace flashbook
