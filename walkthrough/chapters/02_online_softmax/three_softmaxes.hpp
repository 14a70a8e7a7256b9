#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cpu_reference/tensor_view.hpp"
#include "sim/io/online_softmax.hpp"

/// Three ways to compute a softmax in place, and what each asks of the memory that holds the row.
/// The scores are finite.
namespace flashbook::book {

/// A row in memory: every read and every write of an element is counted.
class CountedRow {
 public:
  explicit CountedRow(std::vector<float> values) : values_(std::move(values)) {}

  Index size() const { return static_cast<Index>(values_.size()); }
  float read(Index j) { return ++reads_, values_[static_cast<std::size_t>(j)]; }
  void write(Index j, float value) { ++writes_, values_[static_cast<std::size_t>(j)] = value; }

  Index reads() const { return reads_; }
  Index writes() const { return writes_; }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  Index reads_ = 0, writes_ = 0;
};

/// As the definition says: overflows where a score exceeds 88.
inline void naive_softmax(CountedRow& s) {
  float l = 0;
  for (Index j = 0; j < s.size(); ++j) l += std::exp(s.read(j));
  for (Index j = 0; j < s.size(); ++j) s.write(j, std::exp(s.read(j)) / l);
}

// [safe]
/// The maximum is subtracted, for which it must be known first: one more pass.
inline void safe_softmax(CountedRow& s) {
  float m = io::minus_infinity, l = 0;
  for (Index j = 0; j < s.size(); ++j) m = std::max(m, s.read(j));
  for (Index j = 0; j < s.size(); ++j) l += std::exp(s.read(j) - m);
  for (Index j = 0; j < s.size(); ++j) s.write(j, std::exp(s.read(j) - m) / l);
}
// [/safe]

// [online]
/// The sum is kept right for the maximum so far: one pass for both.
inline void online_softmax(CountedRow& s) {
  float m = io::minus_infinity, l = 0;
  for (Index j = 0; j < s.size(); ++j) {
    const float score = s.read(j), m_old = m;
    m = std::max(m_old, score);
    l = std::exp(m_old - m) * l + std::exp(score - m);
  }
  for (Index j = 0; j < s.size(); ++j) s.write(j, std::exp(s.read(j) - m) / l);
}
// [/online]

}  // namespace flashbook::book
