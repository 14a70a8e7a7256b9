#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace flashbook::emulated {

constexpr int most_stride = 200, words = 32 * most_stride;

struct Smem {
  Tile<float, 1, words> x;
};

FLASHBOOK_KERNEL(32) strided(gmem<float> y, int stride) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x;
  if (stride > 0 || lane == 0) smem.x(0, lane * stride) = 1;
  sync_warp();
  y(lane) = smem.x(0, lane * stride);
}

/// What a warp's read at this stride costs.
int counted(int stride) {
  book::DeviceArray<float> y(32, 0);
  simt::Stream stream;
  launch({"strided", {1}, {32}, sizeof(Smem)}, &stream, strided, y.view(), stride);
  return static_cast<int>(stream.report.total().shared_load.cost);
}

int least_padding(int columns) {
  int padding = 0;
  while (counted(columns + padding) > 1) ++padding;
  return padding;
}

}  // namespace flashbook::emulated

int main() {
  using namespace flashbook;
  book::Judge judge;
  for (int stride = 0; stride < emulated::most_stride; ++stride)
    judge.equal("wavefronts at stride " + std::to_string(stride), wavefronts(stride),
                emulated::counted(stride));
  for (int columns = 1; columns < emulated::most_stride - 4; ++columns)
    judge.equal("the padding of rows of " + std::to_string(columns), padding(columns),
                emulated::least_padding(columns));
  return judge.verdict();
}
