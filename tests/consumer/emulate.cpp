#include <cstdio>

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

// A reader's own kernel: every thread doubles a number.
FLASHBOOK_KERNEL(32) twice(gmem<float> x) {
  x(blockIdx.x * 32 + threadIdx.x) *= 2;
}

}  // namespace flashbook::FLASHBOOK_MACHINE

int main() {
  using namespace flashbook::emulated;
  float x[64];
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  flashbook::simt::Stream stream;
  const auto status = launch({"twice", {2}, {32}}, &stream, twice, gmem<float>(x, 64));
  std::printf("%s%s", status.error.c_str(), flashbook::simt::table(stream.report).c_str());
  return status.ok() && x[63] == 126 ? 0 : 1;
}
