// libFuzzer's way into the .npy reader; CONTRIBUTING.md says how to run it.
#include <cstdint>

#include "tests/fuzz/npy_property.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flashbook::test::check_npy(std::as_bytes(std::span(data, size)));
  return 0;
}
