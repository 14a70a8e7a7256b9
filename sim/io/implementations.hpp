#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// `io.fa2`: the FA2 forward and the three-kernel backward, on counted memory.
/// Blocks other than the default are part of the name: `io.fa2[16x48]`.
class Fa2 : public Implementation {
 public:
  explicit Fa2(const Blocks& blocks = default_blocks) : blocks_(blocks) {}

  std::string name() const override;
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;

 private:
  Blocks blocks_;
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
