#include "walkthrough/plugin/library.hpp"

#include <filesystem>
#include <map>
#include <vector>

#include "walkthrough/book/child.hpp"
#include "walkthrough/places.hpp"
#include "walkthrough/plugin/refused.hpp"

namespace flashbook::plugin {
namespace fs = std::filesystem;
namespace {

using Words = std::vector<std::string>;

/// The compiler of a kind of source and its options; none for what is loaded as it is.
Words compiler_of(const fs::path& file) {
  static const std::map<std::string, Words> compilers = {
      {".c", {"cc", "-O2", "-shared", "-fPIC"}},
      {".cc", {"c++", "-std=c++20", "-O2", "-shared", "-fPIC"}},
      {".cpp", {"c++", "-std=c++20", "-O2", "-shared", "-fPIC"}},
      {".cu", {"nvcc", "-std=c++20", "-arch=native", "-O2", "-shared", "-Xcompiler=-fPIC"}}};
  const auto found = compilers.find(file.extension().string());
  return found == compilers.end() ? Words{} : found->second;
}

std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

void compile(Words command, const std::string& file, const std::string& library) {
  const std::string source = fs::absolute(file).string();  // "-x.c" is no option
  for (const std::string& word : {std::string("-I"), sources_folder().string(), source,
                                  std::string("-o"), library, std::string("-lm")})
    command.push_back(word);
  const std::string compiler = command.front(), typed = joined(command);
  book::Child child;
  try {
    child = book::run_child(std::move(command));
  } catch (const std::runtime_error&) {
    throw refused(file, compiler + " is not here to compile it: install it, or pass a library");
  }
  if (child.status != 0)
    throw refused(file, "it does not compile (" + typed + "):\n" + child.output);
}

}  // namespace

Library::Library(const std::string& file) : path_(file) {
  if (!fs::is_regular_file(file))
    throw refused(file,
                  "there is no such file: pass a shared library, a source in C, C++ or CUDA, or a "
                  "Python module");
  const Words compiler = compiler_of(file);
  if (compiler.empty()) return;
  folder_.emplace();
  path_ = (folder_->path() / "plugin.so").string();
  compile(compiler, file, path_);
}

}  // namespace flashbook::plugin
