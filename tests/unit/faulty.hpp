#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/outputs.hpp"

/// Implementations that are wrong on purpose, for tests of the suite: the oracle, and a fault.
namespace flashbook::test {

using conformance::Output;

/// Everything an implementation reads and writes, for a fault to meddle with after the oracle.
struct Call {
  const AttentionProblem& problem;
  const Inputs& inputs;
  const Outputs& outputs;
  const Cotangents* cotangents;  // null: forward
  const Gradients* gradients;
};

/// The oracle, with a fault. Its name is in no support table.
class Faulty : public Implementation {
 public:
  using Fault = std::function<void(const Call&)>;
  explicit Faulty(Fault fault, Properties properties = {})
      : fault_(std::move(fault)), properties_(properties) {}

  std::string name() const override { return "faulty"; }
  Properties properties() const override { return properties_; }
  Support supports_forward(const AttentionProblem&) const override { return Support::yes(); }
  Support supports_backward(const AttentionProblem&) const override { return Support::yes(); }
  void forward(const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& outputs) const override {
    oracle_.forward(problem, inputs, outputs);
    fault_({problem, inputs, outputs, nullptr, nullptr});
  }
  void backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                const Cotangents& cotangents, const Gradients& gradients) const override {
    oracle_.backward(problem, inputs, saved, cotangents, gradients);
    fault_({problem, inputs, saved, &cotangents, &gradients});
  }

 private:
  Oracle oracle_;
  Fault fault_;
  Properties properties_;
};

/// f(value, batch, token, head, channel) → new value, over an output tensor.
template <class F>
void change(const AttentionProblem& problem, void* data, const flashbook_strides& strides,
            const std::array<Index, 4>& sizes, F&& f) {
  with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    const TensorView<T> view(static_cast<T*>(data), strides, sizes[3]);
    for (Index b = 0; b < sizes[0]; ++b)
      for (Index t = 0; t < sizes[1]; ++t)
        for (Index h = 0; h < sizes[2]; ++h)
          for (Index c = 0; c < sizes[3]; ++c) {
            T& x = view.row(b, t, h)[c];
            x = round_to<T>(f(static_cast<double>(x), b, t, h, c));
          }
  });
}

/// f(call, value, batch, token, head, channel) → new value, over O, dQ, dK or dV as it is written.
template <class F>
Faulty::Fault changed(Output output, F f) {
  return [=](const Call& call) {
    if (conformance::is_gradient(output) != (call.gradients != nullptr)) return;
    const auto& p = call.problem.fields();
    const auto apply = [&](void* data, const flashbook_strides& strides) {
      change(call.problem, data, strides, conformance::shape(call.problem, output),
             [&](double x, auto... at) { return f(call, x, at...); });
    };
    if (output == Output::O) apply(call.outputs.o, p.o);
    if (output == Output::dQ) apply(call.gradients->q, p.grad_q);
    if (output == Output::dK) apply(call.gradients->k, p.grad_k);
    if (output == Output::dV) apply(call.gradients->v, p.grad_v);
  };
}

inline Faulty::Fault scaled(Output output, double factor) {
  return changed(output, [=](const Call&, double x, auto...) { return x * factor; });
}

/// f(call, value, batch, head, query) → new value, over the LSE (not in fp64).
template <class F>
Faulty::Fault changed_lse(F f) {
  return [f](const Call& call) {
    if (call.gradients) return;
    auto* lse = static_cast<float*>(call.outputs.lse);
    const auto& p = call.problem.fields();
    for (Index b = 0; b < p.batch; ++b)
      for (Index h = 0; h < p.heads_q; ++h)
        for (Index i = 0; i < p.n_q; ++i, ++lse) *lse = static_cast<float>(f(call, *lse, b, h, i));
  };
}

/// LSE of a row as the oracle wrote it (not in fp64).
inline double lse_of(const Call& call, Index batch, Index head, Index query) {
  const Index row = (batch * call.problem->heads_q + head) * call.problem->n_q + query;
  return static_cast<double>(static_cast<const float*>(call.outputs.lse)[row]);
}

/// The oracle's outputs for another problem on the same tensors, such as a wrong mask.
inline Faulty::Fault as_if(const std::function<void(flashbook_problem&)>& edit) {
  return [edit](const Call& call) {
    flashbook_problem wrong = call.problem.fields();
    edit(wrong);
    const AttentionProblem problem(wrong, call.problem.cu_seqlens_q(), call.problem.cu_seqlens_k());
    const Oracle oracle;
    if (call.gradients)
      oracle.backward(problem, call.inputs, call.outputs, *call.cotangents, *call.gradients);
    else
      oracle.forward(problem, call.inputs, call.outputs);
  };
}

/// Δ times a factor. D = factor·Δ − dLSE = Δ − (dLSE + (1 − factor)·Δ), so a changed dLSE makes it.
inline Faulty::Fault wrong_delta(double factor) {
  return [factor](const Call& call) {
    if (!call.gradients) return;
    const auto& p = call.problem.fields();
    std::vector<float> dlse(static_cast<std::size_t>(call.problem.lse_size()));
    for (Index b = 0; b < p.members; ++b)
      for (Index h = 0; h < p.heads_q; ++h) {
        const Member m = call.problem.member(b);
        const auto head = load_head<double>(call.problem, call.inputs, m, h);
        const auto given = load_cotangents<double>(call.problem, *call.cotangents, m, h);
        const auto O = flashbook::forward<double>(head).O;
        for (Index i = 0; i < m.n_q; ++i) {
          double delta = 0;
          for (Index c = 0; c < p.d_v; ++c)
            if (O(i, c) != 0) delta += O(i, c) * given.dO(i, c);
          dlse[static_cast<std::size_t>((m.batch * p.heads_q + h) * p.n_q + m.first_q + i)] =
              static_cast<float>(given.dlse(i) + (1 - factor) * delta);
        }
      }
    flashbook_problem with_dlse = p;
    with_dlse.has_dlse = 1;
    const AttentionProblem problem(with_dlse, call.problem.cu_seqlens_q(),
                                   call.problem.cu_seqlens_k());
    Oracle().backward(problem, call.inputs, call.outputs, {call.cotangents->o, dlse.data()},
                      *call.gradients);
  };
}

}  // namespace flashbook::test
