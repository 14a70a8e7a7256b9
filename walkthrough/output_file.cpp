#include "walkthrough/output_file.hpp"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& flag, const fs::path& file) {
  throw InputError(flag + " '" + file.string() +
                   "' cannot be written: pass a file in a folder you may write to");
}

}  // namespace

void check_writable(const std::string& flag, const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (file.filename().empty() || fs::is_directory(file, error) ||
      ::access(folder.c_str(), W_OK) != 0)
    refuse(flag, file);
}

void write_file(const std::string& flag, const fs::path& file, const std::string& text) {
  check_writable(flag, file);
  // A device or a link, such as /dev/stdout, is written to, not replaced.
  std::error_code error;
  const fs::file_status status = fs::symlink_status(file, error);
  const bool replaces = !fs::exists(status) || fs::is_regular_file(status);
  const fs::path staged =
      replaces ? fs::path(file.string() + "." + std::to_string(::getpid()) + ".part") : file;
  std::ofstream out(staged, std::ios::binary);
  const bool written = static_cast<bool>(out << text) && out.flush();
  out.close();
  if (written && replaces) fs::rename(staged, file, error);
  if (written && !error) return;
  if (replaces) fs::remove(staged, error);
  refuse(flag, file);
}

}  // namespace flashbook
