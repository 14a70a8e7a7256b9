#pragma once

#include <string>
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

#ifdef FLASHBOOK_SANITIZED
inline constexpr bool all_are_affordable = false;
#else
inline constexpr bool all_are_affordable = true;
#endif

/// Every case of the suite; under a sanitizer, which is many times slower, one dtype of the kinds
/// that are not sweeps of sizes and masks.
inline std::vector<conformance::Case> affordable_cases() {
  if (all_are_affordable) return conformance::all_cases();
  std::vector<conformance::Case> cases;
  for (const char* kind : {"data", "option", "degenerate", "nan", "empty", "members", "strides",
                           "logits", "softcap", "sinks", "split", "bias", "fuzz"})
    for (conformance::Case& each : conformance::matching_cases(std::string(kind) + "/*/bf16"))
      cases.push_back(std::move(each));
  return cases;
}

}  // namespace flashbook::test
