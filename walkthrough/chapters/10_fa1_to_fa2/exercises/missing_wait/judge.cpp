#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace {

using namespace flashbook;
using book::DeviceArray;

constexpr std::size_t width = 128, warps = width / 32;

bool is_right(DeviceArray<float>& x, DeviceArray<float>& y) {
  bool right = true;
  for (std::size_t i = 0; i < width; ++i) {
    float sum = 0;
    for (std::size_t at = width - 1 - i; at < x.size(); at += width) sum += x[at];
    right = right && y[i] == sum;
  }
  return right;
}

void judge_tiles(book::KernelJudge& judge, std::size_t tiles) {
  const std::string where = std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles");
  DeviceArray<float> x(tiles * width, 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 1000);
  simt::LineCounts counts;
  judge.right_and_silent(where, [&](const simt::Options& options) {
    DeviceArray<float> y(width, std::nanf(""));
    simt::Stream stream = {options, {}};
    emulated::launch({"sum_tiles", {1}, {width}, sizeof(emulated::Smem)}, &stream,
                     emulated::sum_tiles, x.constant(), y.view(), static_cast<int>(tiles));
    if (options.count) counts = stream.report.total();
    return book::KernelRun{std::move(stream.report), is_right(x, y)};
  });
  const std::uint64_t barriers = counts.barriers / warps;
  judge.require(barriers <= 2 * tiles, where + ": " + std::to_string(barriers) +
                                           " barriers, and should be no more than two a tile");
  judge.equal(where + ": copies by cp.async, of a warp", counts.async_copies, std::uint64_t{tiles});
}

}  // namespace

int main() {
  book::KernelJudge judge;
  judge.equal("the size of shared memory", sizeof(emulated::Smem), 2 * width * sizeof(float));
  for (std::size_t tiles = 1; tiles <= 5; ++tiles) judge_tiles(judge, tiles);
  return judge.verdict();
}
