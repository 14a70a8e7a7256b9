#pragma once

#include <cstdint>

#include "cpu_reference/tensor_view.hpp"
#include "tests/conformance/problem_spec.hpp"

namespace flashbook::conformance {

/// Where an element of Q, K, V or dO stands.
struct Place {
  Index batch, token, head, channel;
};

/// The numbers of one recipe for one problem, which outlives this.
class RecipeNumbers {
 public:
  RecipeNumbers(const ProblemSpec& spec, std::uint64_t seed);

  double q(const Place& at) const;
  double k(const Place& at) const;
  double v(Place at) const;
  double grad_o(const Place& at) const;
  double grad_lse(std::uint64_t index) const;
  double sink(std::uint64_t head) const;
  /// At a place of the bias's own shape: 0 along an axis it is broadcast along.
  double bias(std::uint64_t index, Index batch, Index query, Index key) const;

 private:
  double draw(std::uint64_t stream, Place at) const;
  double coin(std::uint64_t stream, Place at) const;
  Place as_key(Place at) const;
  double sign() const { return scale_ < 0 ? -1 : 1; }
  double amplitude(double logit) const;
  double step() const;
  double share(Index key) const;
  double spread() const;
  double cotangent(std::uint64_t stream, std::uint64_t index) const;

  const flashbook_problem& p_;
  Recipe recipe_;
  std::uint64_t seed_;
  double scale_;
};

}  // namespace flashbook::conformance
