/* What flashbook_c99.c shows of itself to a test in C++. */
#ifndef FLASHBOOK_TESTS_API_FLASHBOOK_C99_H
#define FLASHBOOK_TESTS_API_FLASHBOOK_C99_H

#include "cuda/api/flashbook.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const size_t flashbook_c99_interface[];
extern const size_t flashbook_c99_interface_size;

/* Numbers to compute with; free() them. */
float* make_inputs(size_t size);

int run_from_c(const char* name, const flashbook_problem* p, float* out, char* message);

#ifdef __cplusplus
}
#endif

#endif
