// Loops over all threads: what a task throws reaches the caller.
#include <doctest/doctest.h>

#include <stdexcept>

#include "cpu_reference/parallel.hpp"

using namespace flashbook;

namespace {

void fail() {
  throw std::runtime_error("a task failed");
}

}  // namespace

TEST_CASE("after a task has thrown none begins, and its exception is thrown again") {
  FirstException exception;
  int begun = 0;
  exception.guard([&] { ++begun; });
  CHECK_NOTHROW(exception.rethrow());
  exception.guard(fail);
  exception.guard([&] { ++begun; });
  CHECK(begun == 1);
  CHECK_THROWS_WITH_AS(exception.rethrow(), "a task failed", std::runtime_error);
}

TEST_CASE("parallel loops throw what a task throws, and combine nothing after it") {
  const auto fail_at_2 = [](std::int64_t i) {
    if (i == 2) fail();
    return i;
  };
  CHECK_THROWS_AS(parallel_for(5, fail_at_2), std::runtime_error);
  std::int64_t last = 0;
  const auto keep = [&](std::int64_t i, std::int64_t) { last = i; };
  CHECK_THROWS_AS(parallel_for_ordered(5, fail_at_2, keep), std::runtime_error);
  CHECK(last < 2);
  const auto compute = [](std::int64_t i) { return i; };
  const auto fail_to_keep = [&](std::int64_t i, std::int64_t) { fail_at_2(i); };
  CHECK_THROWS_AS(parallel_for_ordered(5, compute, fail_to_keep), std::runtime_error);
}
