#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/gpu/wavefronts/patterns.hpp"

// The emulator's wavefronts against those that a GPU counted: h200.txt, made by
// tests/gpu/compare_wavefronts.py. It names the GPU, then has a line a pattern, in their order.

using namespace flashbook;

namespace {

/// As a line of h200.txt.
std::string line_of(const wavefronts::Pattern& pattern, unsigned count) {
  std::ostringstream out;
  out << pattern.name << '\t' << (pattern.is_write ? "store" : "load") << '\t' << pattern.bytes
      << '\t' << count;
  return out.str();
}

}  // namespace

TEST_CASE("each access costs the wavefronts that a GPU counted") {
  std::ifstream recorded(FLASHBOOK_WAVEFRONTS);
  std::string device, line;
  REQUIRE(std::getline(recorded, device));
  for (const wavefronts::Pattern& pattern : wavefronts::patterns()) {
    REQUIRE(std::getline(recorded, line));
    unsigned count = 0;
    REQUIRE(wavefronts::emulate(pattern, count).ok());
    CHECK(line_of(pattern, count) == line);
  }
  CHECK_FALSE(std::getline(recorded, line));
}
