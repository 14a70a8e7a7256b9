#pragma once

#include <filesystem>

namespace flashbook {

/// A new folder that nobody else writes to, and that is removed at the end with what it holds.
class TemporaryFolder {
 public:
  /// In `parent`; without one where the system, or TMPDIR, has such folders. Throws InputError.
  explicit TemporaryFolder(std::filesystem::path parent = {});
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace flashbook
