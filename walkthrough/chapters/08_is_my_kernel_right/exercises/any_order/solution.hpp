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

/// Memory for every part is what the fixed order costs: split_kv_decode pays it, too.
class Row {
 public:
  explicit Row(std::size_t parts) : parts_(parts) {}

  void add(std::size_t index, const Part& part) { parts_[index] = part; }

  float result() const {
    Part sum;
    for (const Part& part : parts_) sum = merge(sum, part);
    return sum.o / sum.l;
  }

 private:
  std::vector<Part> parts_;
};
