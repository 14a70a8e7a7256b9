#pragma once

#include <string>
#include <vector>

#include "cpu_reference/tensor_view.hpp"
#include "tests/conformance/cases.hpp"

/// How the lists of cases are written.
namespace flashbook::conformance {

/// Some words of a problem, as parse_problem reads them, under a name.
struct Named {
  std::string name, words;
};

inline std::string text(Index number) {
  return std::to_string(number);
}

/// The words of both; where they share a key, those of `second`.
std::string merged(const std::string& first, const std::string& second);

inline constexpr const char* gated[] = {"fp16", "bf16", "fp32"};
inline constexpr const char* all_dtypes[] = {"fp16", "bf16", "fp32", "fp64"};

class Builder {
 public:
  std::vector<Case> cases;

  /// The case "kind/what.name/dtype" in each of the dtypes.
  template <std::size_t N>
  void add(const std::string& kind, const Named& what, const char* const (&dtypes)[N]) {
    for (const char* dtype : dtypes) add(kind, what, dtype);
  }
  void add(const std::string& kind, const Named& what, const char* dtype);

  /// A point of a sweep: in fp32, and in fp16 and bf16 by turns, since a wrong index is wrong in
  /// both and a kernel takes both or neither.
  void add_point(const std::string& kind, const Named& what);

 private:
  bool is_fp16_next_ = true;
};

// What each adds is said where it is defined.
void add_sizes(Builder& builder);
void add_data(Builder& builder);
void add_options(Builder& builder);
void add_dims(Builder& builder);
void add_degenerate(Builder& builder);
void add_fuzzed(Builder& builder);
void add_sanitize(Builder& builder);
void add_nan(Builder& builder);
void add_empty_rows(Builder& builder);
void add_masks(Builder& builder);
void add_members(Builder& builder);
void add_heads(Builder& builder);
void add_tails(Builder& builder);
void add_strides(Builder& builder);
void add_numbers(Builder& builder);
void add_added(Builder& builder);
void add_large(Builder& builder);

}  // namespace flashbook::conformance
