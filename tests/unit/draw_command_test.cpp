// `draw`: what it prints and refuses. That it is true is draw_test's.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;

std::string drawn(const std::string& arguments) {
  const Run run = Scratch().flashbook("draw " + arguments);
  CHECK_MESSAGE(run.status == 0, run.err);
  return run.out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("draw: a product marks one lane's registers and no others") {
  for (const char* lane : {"0", "13", "31"}) {
    const std::string out = drawn("product --lane " + std::string(lane));
    CHECK(std::count(out.begin(), out.end(), '*') == 1 + 4 + 2 + 4);  // the caption, a, b, d
    for (const char* name : {"a0", "a3", "b0", "b1", "d0", "d3"})
      CHECK(has(out, "*" + std::string(lane) + " " + name));
  }
}

TEST_CASE("draw: scores and banks") {
  const std::string scores = drawn("scores"), banks = drawn("banks");
  CHECK(has(scores, "256 of 256 elements"));
  CHECK(has(scores, "a[3]  S[1][2], S[1][3]"));
  CHECK(has(banks, "wavefronts    8                  1                  1\n"));
  CHECK(has(banks, "  7             0 1 2 3 4 5 6 7    1 2 3 4 5 6 7 0    7 6 5 4 3 2 1 0\n"));
}

TEST_CASE("draw: pictures are written, and follow the viewer's theme") {
  const Scratch scratch;
  for (const std::string what : {"product", "banks"}) {
    const Run run = scratch.flashbook("draw " + what + " --svg x.svg");
    CHECK(run.status == 0);
    const std::string svg = scratch.shell("cat x.svg").out;
    CHECK(has(svg, "<svg"));
    CHECK(has(svg, "prefers-color-scheme:dark"));
    CHECK(has(svg, "cell mine"));
    CHECK(has(svg, "</svg>"));
  }
}

TEST_CASE("draw: bad input") {
  const Scratch scratch;
  check_refused(scratch, "draw", {"WHAT"});
  check_refused(scratch, "draw products", {"'products'", "pass product, scores or banks"});
  check_refused(scratch, "draw product --lane 32", {"--lane is 32", "0 to 31"});
  check_refused(scratch, "draw product --lane -1", {"--lane is -1", "0 to 31"});
  check_refused(scratch, "draw scores --svg x.svg", {"--svg is 'x.svg'", "no picture of scores"});
  check_refused(scratch, "draw banks --svg /nowhere/x.svg", {"--svg", "/nowhere"});
}
