// The fuzzer's seeds, and mutations of them that are the same every time: what every test run can
// afford of what the fuzzer does for hours.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/npy_property.hpp"

namespace {

std::vector<std::string> seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(FLASHBOOK_NPY_CORPUS))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

/// The bytes in a block of exactly their size, so that a sanitizer sees a read past the end.
bool is_read(const std::string& file) {
  const auto bytes = std::as_bytes(std::span(file));
  return flashbook::test::check_npy(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// One to four changes: a byte replaced, removed or doubled, a piece of another seed put in.
std::string mutated(std::string file, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !file.empty(); --changes) {
    const std::size_t at = below(file.size());
    switch (below(4)) {
      case 0:
        file[at] = static_cast<char>(below(256));
        break;
      case 1:
        file.erase(at, 1 + below(8));
        break;
      case 2:
        file.insert(at, 1, file[at]);
        break;
      default:
        file.insert(at, other, below(other.size()), below(24));
    }
  }
  return file;
}

}  // namespace

TEST_CASE("npy: the fuzzer's seeds are read or refused as their names say") {
  const std::vector<std::string> files = seeds();
  REQUIRE(files.size() == 21);
  CHECK(std::count_if(files.begin(), files.end(), is_read) == 10);
}

TEST_CASE("npy: 42,000 mutations of the fuzzer's seeds") {
  const std::vector<std::string> files = seeds();
  std::mt19937_64 random(1);
  std::size_t read = 0, total = 0;
  for (const std::string& file : files)
    for (int n = 0; n < 2000; ++n, ++total)
      read += is_read(mutated(file, files[random() % files.size()], random));
  CHECK(total == 42'000);
  CHECK(read > 100);  // they reach beyond the header
  CHECK(read < total / 2);
}
