#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace {

using namespace flashbook;
using book::DeviceArray;
using simt::Event;

constexpr std::size_t tile = 8 * 32, half = tile / 2, width = 32;

/// y [2, 32]: a consumer's half of each tile, by columns.
bool is_right(DeviceArray<float>& x, DeviceArray<float>& y) {
  float sums[2 * width] = {};
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % tile / half * width + i % width] += x[i];
  return std::equal(std::begin(sums), std::end(sums), y.data());
}

std::size_t arrivals(const std::vector<Event>& events) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(),
                    [](const Event& event) { return event.kind == Event::Kind::arrive; }));
}

book::KernelRun run(int tiles, simt::Options options) {
  options.watched = 0;
  DeviceArray<float> x(static_cast<std::size_t>(tiles) * tile, 0), y(2 * width, std::nanf(""));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 100);
  simt::Stream stream = {options, {}};
  emulated::Parameters p = {{}, y.view(), tiles};
  const TensorShape shape = {2, {32, tiles * 8}, {1, 32}, {32, 8}};
  if (!emulated::make_tensor_map(p.x, x.constant(), shape).ok()) return {{}, false};
  emulated::launch({"sum_tiles", {1}, {96}, sizeof(emulated::Smem)}, &stream, emulated::sum_tiles,
                   p);
  return {std::move(stream.report), is_right(x, y)};
}

void judge_tiles(book::KernelJudge& judge, int tiles) {
  const std::string where = std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles");
  judge.right_and_silent(where, [&](const simt::Options& options) { return run(tiles, options); });
  const simt::Report report = run(tiles, {}).report;
  judge.equal(where + ": arrivals at mbarriers, by a thread each", arrivals(report.events),
              static_cast<std::size_t>(3 * tiles));
  const std::uint64_t barriers = report.total().barriers, most = 3 + 2 * std::uint64_t(tiles);
  judge.require(barriers <= most, where + ": warps come " + std::to_string(barriers) +
                                      " times to a barrier, and should no more than " +
                                      std::to_string(most));
}

}  // namespace

int main() {
  book::KernelJudge judge;
  for (int tiles = 1; tiles <= 6; ++tiles) judge_tiles(judge, tiles);
  return judge.verdict();
}
