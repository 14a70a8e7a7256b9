#include "tests/conformance/cases.hpp"

#include <fnmatch.h>

#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    Builder builder;
    for (const auto add : {add_sizes, add_data, add_options, add_dims, add_degenerate, add_nan,
                           add_empty_rows, add_masks, add_members, add_heads, add_tails,
                           add_strides, add_numbers, add_added, add_fuzzed, add_sanitize})
      add(builder);
    return std::move(builder.cases);
  }();
  return cases;
}

std::vector<Case> matching_cases(std::string_view glob) {
  const std::string pattern(glob);
  std::vector<Case> matching;
  const auto add_matching = [&](const std::vector<Case>& cases) {
    for (const Case& candidate : cases)
      if (fnmatch(pattern.c_str(), candidate.name.c_str(), 0) == 0) matching.push_back(candidate);
  };
  add_matching(all_cases());
  if (glob.substr(0, 6) == "large/") {
    Builder builder;
    add_large(builder);
    add_matching(builder.cases);
  }
  return matching;
}

}  // namespace flashbook::conformance
