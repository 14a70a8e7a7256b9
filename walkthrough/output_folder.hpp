#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cpu_reference/npy.hpp"

namespace flashbook {

/// A folder that receives all of its files or none: they are staged beside their place and moved
/// there by commit(). Without it, everything made is removed again, folders included.
class OutputFolder {
 public:
  /// Makes the folder if need be. Throws InputError naming `argument` if it cannot be written.
  OutputFolder(std::string argument, std::filesystem::path folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  void add(const std::string& file, const NpyArray& array);
  /// Moves the files to their place and returns their paths.
  std::vector<std::string> commit();

 private:
  [[noreturn]] void refuse(const std::string& why) const;

  std::string argument_;
  std::filesystem::path folder_, staging_;
  std::vector<std::filesystem::path> made_;  // folders that did not exist, innermost first
  std::vector<std::string> files_;
};

}  // namespace flashbook
