#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

struct Part {
  float m = -std::numeric_limits<float>::infinity(), l = 0, o = 0;
};

inline Part merge(const Part& a, const Part& b) {
  const float m = std::max(a.m, b.m);
  const float weight_a = std::isinf(a.m) ? 0 : std::exp(a.m - m);
  const float weight_b = std::isinf(b.m) ? 0 : std::exp(b.m - m);
  return {m, weight_a * a.l + weight_b * b.l, weight_a * a.o + weight_b * b.o};
}

class Row {
 public:
  /// A row whose keys are split into so many parts.
  explicit Row(std::size_t /*parts*/) {}

  /// The state of part `index`, from whoever is done.
  void add(std::size_t /*index*/, const Part& part) {
    sum_ = merge(sum_, part);  // in the order in which they come
  }

  /// After all parts: the row's output.
  float result() const { return sum_.o / sum_.l; }

 private:
  Part sum_;
};
