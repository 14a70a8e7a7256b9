#include "walkthrough/places.hpp"

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace fs = std::filesystem;

fs::path book_folder() {
  std::error_code no_such_link;
  const fs::path program = fs::read_symlink("/proc/self/exe", no_such_link);
  const fs::path installed = (program.parent_path() / FLASHBOOK_INSTALLED_BOOK).lexically_normal();
  const fs::path in_sources = sources_folder() / "walkthrough";
  for (const fs::path& folder : {installed, in_sources})
    if (fs::is_directory(folder / "chapters")) return folder;
  throw InputError("the book is neither in " + installed.string() + " nor in " +
                   in_sources.string() + ": install flashbook again, or build it again");
}

fs::path sources_folder() {
  return FLASHBOOK_SOURCES;
}

fs::path build_folder() {
  return FLASHBOOK_BUILD;
}

fs::path cmake_program() {
  return FLASHBOOK_CMAKE;
}

}  // namespace flashbook
