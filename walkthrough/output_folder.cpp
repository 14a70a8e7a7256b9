#include "walkthrough/output_folder.hpp"

#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace fs = std::filesystem;
namespace {

/// A new folder inside `parent`, and the folders on the way to it that did not exist. What is left
/// of them, when empty, is removed at the end.
class Staging {
 public:
  explicit Staging(const fs::path& parent) {
    std::error_code error;
    for (fs::path folder = parent; !folder.empty() && !fs::exists(folder, error);
         folder = folder.parent_path())
      made_.push_back(folder);
    fs::create_directories(parent, error);
    std::string name = (parent / ".flashbook-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Staging() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    for (const fs::path& made : made_) fs::remove(made, ignored);  // not if it holds a file
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Empty if it could not be made.
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  std::vector<fs::path> made_;  // innermost first
};

}  // namespace

OutputFolder::OutputFolder(std::string argument, fs::path folder)
    : argument_(std::move(argument)), folder_(std::move(folder)) {
  std::error_code error;
  if (folder_.empty()) refuse("is empty");
  if (folder_.filename().empty()) folder_ = folder_.parent_path();  // a trailing slash
  fs::path nearest = folder_;  // of the folders on the way to it, the innermost that exists
  while (!nearest.empty() && !fs::exists(nearest, error)) nearest = nearest.parent_path();
  if (nearest.empty()) nearest = ".";
  if (!fs::is_directory(nearest, error)) refuse("is not a folder");
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) refuse("cannot be written");
}

void OutputFolder::refuse(const std::string& why) const {
  throw InputError(argument_ + " '" + folder_.string() + "' " + why +
                   ": pass a folder you may write to; it is made if it does not exist");
}

std::vector<std::string> OutputFolder::write(const std::vector<File>& files) const {
  for (const File& file : files)
    if (fs::is_directory(folder_ / file.name))
      throw InputError(argument_ + " '" + folder_.string() + "' holds a folder named " + file.name +
                       ", where a file has to go: remove it or pass another folder");
  const Staging staging(folder_);
  if (staging.path().empty()) refuse("cannot be written");
  try {
    for (const File& file : files) write_npy(staging.path() / file.name, file.array);
  } catch (const InputError& error) {
    throw InputError(argument_ + ": " + error.what());
  }
  std::vector<std::string> paths;
  for (const File& file : files) {
    std::error_code error;
    fs::rename(staging.path() / file.name, folder_ / file.name, error);
    if (error) refuse("does not take " + file.name + " (" + error.message() + ")");
    paths.push_back((folder_ / file.name).string());
  }
  return paths;
}

}  // namespace flashbook
