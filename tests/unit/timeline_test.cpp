// Timelines of rings: told from what the emulator executed, whatever the order of warps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "walkthrough/chapters/11_asynchrony/ring.cuh"
#include "walkthrough/chapters/device_array.hpp"
#include "walkthrough/ring/timeline.hpp"
#include "walkthrough/text_width.hpp"

using namespace flashbook;
using namespace flashbook::ring;
using Kind = Moment::Kind;
using State = Content::State;
namespace kernels = emulated::ring;

namespace {

Timeline watched(int tiles, unsigned seed) {
  const auto n = static_cast<std::size_t>(tiles) * kernels::rows * kernels::columns;
  book::DeviceArray<float> x(n, 1), y(kernels::consumers * kernels::columns, std::nanf(""));
  simt::Stream stream = {{}, {}};
  stream.options.seed = seed;
  stream.options.watched = 0;
  const LaunchStatus status =
      kernels::start(kernels::sums<kernels::produce, kernels::consume, kernels::finish>,
                     x.constant(), y.view(), tiles, &stream);
  REQUIRE_MESSAGE(status.ok(), status.error);
  return timeline_of(stream.report.events, {{x.data(), "x"}}, {32, "warp"});
}

long count(const Timeline& timeline, Kind kind, int actor) {
  return std::count_if(timeline.moments.begin(), timeline.moments.end(), [&](const Moment& moment) {
    return moment.kind == kind && moment.actor == actor;
  });
}

/// From empty to filling, full, used by one consumer and the other, and empty again; the tiles in
/// turn.
void check_life(const Timeline& timeline, std::size_t stage) {
  Content before;
  int next = static_cast<int>(stage);
  for (const Moment& moment : timeline.moments) {
    const Content& after = moment.stages[stage];
    if (after.state == before.state) continue;
    if (after.state == State::filling) {
      CHECK(before.state == State::empty);
      CHECK(after.tile == next);
      next += kernels::stages;
    } else {
      CHECK(after.tile == before.tile);
      if (before.state == State::filling) CHECK(after.state == State::full);
      if (before.state == State::full) CHECK(after.state == State::used);
    }
    before = after;
  }
  CHECK(before.state == State::empty);
}

}  // namespace

TEST_CASE("a ring of one tile, from the first wait to the last stage given back") {
  const std::string text = text_of(watched(1, 0));
  CHECK(text ==
        "     copies  warp 0   warp 1         warp 2         x\n"
        "  1                                  waits: x full  .\n"
        "  2          fills x                                ~0\n"
        "  3                   waits: x full                 ~0\n"
        "  4  x full                                         0\n"
        "  5                   reads x                       0*\n"
        "  6                   gives back x                  0\n"
        "  7                                  reads x        0*\n"
        "  8                                  gives back x   .\n"
        "Stages: ~2 tile 2 is being copied, 2 it is there, 2* it is in use, . given back.\n");
}

TEST_CASE("every tile is copied once, used by each consumer and given back, in any order") {
  for (const int tiles : {2, 3, 7})
    for (unsigned seed = 0; seed < 10; ++seed) {
      CAPTURE(tiles);
      CAPTURE(seed);
      const Timeline timeline = watched(tiles, seed);
      CHECK(timeline.stages == std::vector<std::string>{"x0", "x1"});
      CHECK(timeline.actors == std::vector<std::string>{"warp 0", "warp 1", "warp 2"});
      CHECK(count(timeline, Kind::fills, 0) == tiles);
      CHECK(count(timeline, Kind::is_full, -1) == tiles);
      for (const int consumer : {1, 2}) {
        CHECK(count(timeline, Kind::uses, consumer) == tiles);
        CHECK(count(timeline, Kind::gives_back, consumer) == tiles);
      }
      for (const std::size_t stage : {0u, 1u}) check_life(timeline, stage);
    }
}

TEST_CASE("the picture has a box for each copy and for each use") {
  const std::string svg = svg_of(watched(7, 0), "a ring");
  const auto boxes = [&](const std::string& kind) {
    int n = 0;
    for (std::size_t at = svg.find("class=\"" + kind + "\""); at != std::string::npos;
         at = svg.find("class=\"" + kind + "\"", at + 1))
      ++n;
    return n;
  };
  CHECK(boxes("filling") == 7);
  CHECK(boxes("fills") == 7 + 1);  // and the legend
  CHECK(boxes("uses") == 2 * 7 + 1);
  CHECK(boxes("gives_back") == 2 * 7 + 1);
}

TEST_CASE("nothing is copied: no stages") {
  CHECK(timeline_of({}, {}, {}).stages.empty());
}
