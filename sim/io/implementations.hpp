#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// A forward and a backward pass in blocks that go by one name.
struct BlockedPair {
  std::string_view name;
  std::string_view forward, backward;  ///< algorithms by name; backward may be empty: there is none
  Schedule schedule = {};              ///< how it runs unless told otherwise
  bool deterministic = false;          ///< RunOptions::deterministic
};

/// `io.fa2` and its like: the one list that command line and tests read.
std::span<const BlockedPair> blocked_pairs();

/// One of blocked_pairs(), on counted memory. A schedule other than the pair's own is part of the
/// name: `io.fa2[16x48]` has tiles of 16 rows and 48 keys.
class Blocked : public Implementation {
 public:
  /// Both throw InputError that lists the names for one that is not among them.
  explicit Blocked(std::string_view name);
  Blocked(std::string_view name, const Schedule& schedule);

  std::string name() const override;
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  /// Throws InputError where supports_backward refuses for want of a backward pass.
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;

 private:
  const BlockedPair& pair_;
  const Algorithm& forward_;
  const Algorithm* backward_;  ///< or null
  Schedule schedule_;
};

/// `io.standard`: S and P in memory, each operand of a product streamed once.
class Standard : public Implementation {
 public:
  std::string name() const override { return "io.standard"; }
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;
};

}  // namespace flashbook::io
