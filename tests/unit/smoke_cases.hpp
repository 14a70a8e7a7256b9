#pragma once

#include <vector>

#include "tests/conformance/cases.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define FLASHBOOK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLASHBOOK_SANITIZED 1
#endif
#endif

namespace flashbook::test {

/// Every case of the suite; under a sanitizer, which is many times slower, all kinds but sizes and
/// pairs, in one dtype.
inline std::vector<conformance::Case> affordable_cases() {
#ifdef FLASHBOOK_SANITIZED
  return conformance::matching_cases("[!ps]*/bf16");
#else
  return conformance::all_cases();
#endif
}

}  // namespace flashbook::test
