#pragma once

#include <string>
#include <vector>

#include "tests/conformance/expectation.hpp"
#include "tests/conformance/head_terms.hpp"

namespace flashbook::conformance {

/// All sums over heads that an expectation is made of.
class HeadSums {
 public:
  /// `of_rows`: without dK and dV, which have no element then.
  HeadSums(const AttentionProblem& problem, const Inputs& inputs, const Cotangents& cotangents,
           const Arithmetic& a, bool of_rows);

  /// Errors of run n of the ideal kernel.
  std::vector<double> ideal_error(std::size_t n, Output output) const;
  std::size_t ideal_runs() const { return ideal_.size(); }

  Numbers exact, tolerance, contributing, variance, delta;
  std::string overflow;
  double largest_score = 0;
  bool zero_cotangents = true;  ///< where a row sees a key

 private:
  void add_group(const Inputs& inputs, const Cotangents& cotangents, const Member& m,
                 Index kv_head);
  void add_head(const Member& m, Index head, const HeadTerms& t);
  void add_ideal_runs(const Member& m, Index head, const HeadTerms& t);
  double bias_repeats() const;
  void set_slack();

  const AttentionProblem& problem_;
  const Arithmetic& a_;
  std::vector<Numbers> ideal_;
};

}  // namespace flashbook::conformance
