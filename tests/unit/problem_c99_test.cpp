#include <doctest/doctest.h>

#include <cstddef>

#include "cpu_reference/problem.h"

extern "C" const std::size_t flashbook_c99_layout[6];  // problem_c99.c

TEST_CASE("C and C++ see the same flashbook_problem") {
  CHECK(flashbook_c99_layout[0] == sizeof(flashbook_problem));
  CHECK(flashbook_c99_layout[1] == offsetof(flashbook_problem, batch));
  CHECK(flashbook_c99_layout[2] == offsetof(flashbook_problem, q));
  CHECK(flashbook_c99_layout[3] == offsetof(flashbook_problem, bias_shape));
  CHECK(flashbook_c99_layout[4] == offsetof(flashbook_problem, scale));
  CHECK(flashbook_c99_layout[5] == offsetof(flashbook_problem, window_right));
}
