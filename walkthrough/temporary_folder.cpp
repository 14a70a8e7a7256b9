#include "walkthrough/temporary_folder.hpp"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(fs::path parent) {
  std::error_code error;
  const bool is_chosen = !parent.empty();
  if (!is_chosen) parent = fs::temp_directory_path(error);
  std::string name = (parent / "flashbook-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    const char* const variable = ::getenv("TMPDIR");
    throw InputError("no temporary folder can be made in '" +
                     (!is_chosen && variable ? std::string(variable) : parent.string()) +
                     "': set TMPDIR to a folder you may write to, with room");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace flashbook
