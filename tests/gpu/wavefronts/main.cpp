// shared_wavefronts: runs every pattern on a GPU; with an argument, on the emulator, and prints
// what that counted: name, access, bytes, wavefronts.
#include <cstdio>

#include "tests/gpu/wavefronts/patterns.hpp"

using namespace flashbook;

int main(int argc, char**) {
  const std::vector<wavefronts::Pattern> patterns = wavefronts::patterns();
  LaunchStatus status;
  if (argc == 1) status = wavefronts::run_on_gpu(patterns);
  for (const auto& pattern : patterns) {
    if (argc == 1 || !status.ok()) break;
    unsigned count = 0;
    status = wavefronts::emulate(pattern, count);
    std::printf("%s\t%s\t%d\t%u\n", pattern.name.c_str(), pattern.is_write ? "store" : "load",
                pattern.bytes, count);
  }
  if (!status.ok()) std::fprintf(stderr, "shared_wavefronts: %s\n", status.error.c_str());
  return status.ok() ? 0 : 1;
}
