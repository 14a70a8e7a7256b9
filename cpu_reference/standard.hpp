#pragma once

#include "cpu_reference/head.hpp"
#include "cpu_reference/implementation.hpp"

namespace flashbook {

/// Standard attention: S and P in memory, N_q x N_k a head, stored in the problem's dtype.
/// fp16 and bf16 are emulated: fp32 arithmetic, rounded where a GPU would write 16 bits.
class StandardAttention : public Implementation {
 public:
  std::string name() const override { return "standard"; }
  Properties properties() const override;
  Support supports_forward(const AttentionProblem&) const override { return Support::yes(); }
  Support supports_backward(const AttentionProblem&) const override { return Support::yes(); }
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;
};

/// The oracle: the same equations in double on the inputs as stored, rounded once at the end.
class Oracle : public Implementation {
 public:
  std::string name() const override { return "oracle"; }
  Properties properties() const override { return {}; }
  Support supports_forward(const AttentionProblem&) const override { return Support::yes(); }
  Support supports_backward(const AttentionProblem&) const override { return Support::yes(); }
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;
};

/// One query head of a member, widened to Real. The mask is decided here, pair by pair.
template <class Real>
Head<Real> load_head(const AttentionProblem& problem, const Inputs& inputs, const Member& member,
                     std::int64_t query_head);

/// Its cotangents, widened to Real.
template <class Real>
HeadCotangents<Real> load_cotangents(const AttentionProblem& problem, const Cotangents& cotangents,
                                     const Member& member, std::int64_t query_head);

}  // namespace flashbook
