// `demo`: the book's kernels do what its chapters say: the right ones are right and silent, each of
// the others is found out in its category.
#include <doctest/doctest.h>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;

void check_says(const std::string& arguments, int status, const std::vector<std::string>& parts) {
  const Run run = Scratch().flashbook("demo " + arguments);
  CAPTURE(arguments);
  CHECK_MESSAGE(run.status == status, run.err);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK_MESSAGE(run.out.find(part) != std::string::npos, run.out);
  }
}

const std::string right = "The result is right.", silent = "No race, ";

}  // namespace

TEST_CASE("demo: transposes are right, and cost what their addresses say") {
  check_says("transpose_direct --n 32", 0, {right, silent, "1024  8.00!"});
  check_says("transpose_tiled --n 32", 0, {right, silent, "1024  32.00!"});
  check_says("transpose_padded --n 32", 0, {right, silent, "64  1.00"});
  check_says("transpose_padded --n 96 --seeds 5", 0, {"Right in 5 of 5 orders", silent});
}

TEST_CASE("demo: sums are right in every order and at every length") {
  for (const char* n : {"1", "31", "32", "33", "127", "128"})
    check_says("sum --seeds 5 --n " + std::string(n), 0, {"Right in 5 of 5 orders", silent});
}

TEST_CASE("demo: a race is found although the result is right, and other orders show it") {
  check_says("no_barrier", 1, {right, "race at sums.cuh"});
  check_says("no_barrier --seed 1", 1, {"Wrong: y[", "in order 1", "uninitialised shared memory"});
  check_says("not_atomic", 1, {right, "race between blocks at sums.cuh"});
}

TEST_CASE("demo: each mistake in its category, and only where it is one") {
  check_says("part_of_a_warp", 1, {"NaN, and should be 4950", "divergent collective"});
  check_says("part_of_a_warp --n 96", 0, {right, silent});
  check_says("left_early", 1, {"Wrong", "deadlock at sums.cuh"});
  check_says("left_early --n 97", 0, {right, silent});
  check_says("no_wait", 1, {"Wrong", "unfinished copy at sums.cuh"});
  check_says("no_zeros", 1, {"Wrong", "uninitialised shared memory at sums.cuh"});
  check_says("no_zeros --n 128", 0, {right, silent});
}

TEST_CASE("demo: scores are right in any tile; plain rows cost 8 times the wavefronts") {
  check_says("scores_plain --n 64", 0, {right, silent, "512  8.00!", "2048  8.00!"});
  for (const char* tile : {"padded", "swizzled"})
    check_says("scores_" + std::string(tile) + " --n 64 --seeds 5", 0,
               {"Right in 5 of 5 orders", silent, "64  1.00 ", "256  1.00 "});
}

TEST_CASE("demo: sums end where accumulators of 16 bits have no next number") {
  check_says("sum_fp32 --n 65536", 0, {right, silent});
  check_says("sum_bf16 --n 4096", 0, {right, silent});
  check_says("sum_bf16 --n 4112", 1, {"y[0] is 4096, and should be 4112", silent});
}

TEST_CASE("demo: a ring is right in every order, and its mistakes are found") {
  for (const char* n : {"1", "2", "3", "9"})
    check_says("ring --seeds 10 --n " + std::string(n), 0, {"Right in 10 of 10 orders", silent});
  check_says("released_early --n 2", 0, {right, silent});  // no stage is filled again
  check_says("released_early", 1, {right, "race at ring.cuh:46"});
  check_says("wrong_phase --n 2", 0, {right, silent});
  check_says("wrong_phase", 1, {"Wrong", "unfinished copy at ring.cuh", "deadlock at ring.cuh:44"});
  check_says("nothing_expected", 1, {"Wrong", "unfinished copy at ring.cuh"});
  check_says("too_many_bytes", 1, {"Wrong", "deadlock", "1024 announced bytes"});
  check_says("no_proxy_fence", 1, {right, "no fence_proxy_async since it was written"});
}

TEST_CASE("demo --ring: a line a step, and a picture") {
  check_says("ring --ring", 0, {"     copies   warp 0 ", "fills x1", "gives back x0", silent});
  const Scratch scratch;
  CHECK(scratch.flashbook("demo ring --ring --svg x.svg").status == 0);
  CHECK(scratch.shell("cat x.svg").out.find("</svg>") != std::string::npos);
  check_says("released_early --ring", 1, {"fills x1", "race at ring.cuh:46"});
}

TEST_CASE("demo: without a name, what there is") {
  check_says("", 0, {"transpose_direct", "sums of rows, a barrier missing"});
}

TEST_CASE("demo: bad input") {
  const Scratch scratch;
  check_refused(scratch, "demo sums", {"'sums'", "pass transpose_direct, "});
  check_refused(scratch, "demo sum --n 129", {"--n is 129", "1 to 128"});
  check_refused(scratch, "demo sum --n -1", {"--n is -1", "1 to 128"});
  check_refused(scratch, "demo sum --n 0", {"--n is 0", "1 to 128"});
  check_refused(scratch, "demo transpose_tiled --n 33", {"--n is 33", "a multiple of 32"});
  check_refused(scratch, "demo sum --seeds 0", {"--seeds"});
  check_refused(scratch, "demo sum --ring", {"--ring", "sum", "pass ring"});
  check_refused(scratch, "demo ring --svg x.svg", {"--svg", "--ring"});
  check_refused(scratch, "demo ring --ring --svg /nowhere/x.svg", {"--svg", "/nowhere"});
}
