/* Strict C99: problem.h serves C programs. problem_c99_test.cpp compares the layouts. */
#include <stddef.h>

#include "cpu_reference/problem.h"

const size_t flashbook_c99_layout[] = {
    sizeof(flashbook_problem),          offsetof(flashbook_problem, batch),
    offsetof(flashbook_problem, q),     offsetof(flashbook_problem, bias_shape),
    offsetof(flashbook_problem, scale), offsetof(flashbook_problem, window_right),
};
