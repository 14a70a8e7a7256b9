#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "cpu_reference/tensor_view.hpp"
#include "tests/conformance/random_numbers.hpp"

namespace flashbook::conformance {

/// A row of random choices: the same for a seed on every machine and in every thread.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  double fraction() { return uniform(seed_, stream, drawn_++); }
  bool chance(double probability) { return fraction() < probability; }
  /// A whole number from `least` to `most`, both included.
  Index pick(Index least, Index most) {
    return least + static_cast<Index>(fraction() * static_cast<double>(most - least + 1));
  }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[pick(0, static_cast<Index>(choices.size()) - 1)];
  }

 private:
  static constexpr std::uint64_t stream = 1 << 20;  // far from those of the data
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace flashbook::conformance
