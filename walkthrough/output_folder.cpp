#include "walkthrough/output_folder.hpp"

#include <cstdlib>
#include <system_error>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace fs = std::filesystem;
namespace {

/// Folders on the way to `folder` that do not exist yet, innermost first.
std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  for (std::error_code error; !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

}  // namespace

OutputFolder::OutputFolder(std::string argument, fs::path folder)
    : argument_(std::move(argument)), folder_(std::move(folder)) {
  std::error_code error;
  if (folder_.empty()) refuse("is empty");
  if (folder_.filename().empty()) folder_ = folder_.parent_path();  // a trailing slash
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error)) refuse("is not a folder");
  made_ = missing_folders(folder_);
  fs::create_directories(folder_, error);
  std::string staging = (folder_ / ".flashbook-XXXXXX").string();
  if (error || ::mkdtemp(staging.data()) == nullptr) {
    for (const fs::path& made : made_) fs::remove(made, error);
    refuse("cannot be written");
  }
  staging_ = staging;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  for (const fs::path& made : made_) fs::remove(made, ignored);  // succeeds only where empty
}

void OutputFolder::refuse(const std::string& why) const {
  throw InputError(argument_ + " '" + folder_.string() + "' " + why +
                   ": pass a folder you may write to; it is made if it does not exist");
}

void OutputFolder::add(const std::string& file, const NpyArray& array) {
  write_npy(staging_ / file, array);
  files_.push_back(file);
}

std::vector<std::string> OutputFolder::commit() {
  std::vector<std::string> paths;
  for (const std::string& file : files_)
    if (fs::is_directory(folder_ / file))
      refuse("holds a folder named " + file + ", where a file has to go");
  for (const std::string& file : files_) {
    std::error_code error;
    fs::rename(staging_ / file, folder_ / file, error);
    if (error) refuse("does not take " + file + " (" + error.message() + ")");
    paths.push_back((folder_ / file).string());
  }
  made_.clear();
  return paths;
}

}  // namespace flashbook
