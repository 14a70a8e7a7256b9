#pragma once

#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "cuda/forward/kernels.hpp"
#include "sim/simt/launch.hpp"

namespace flashbook::test {

/// A forward kernel on the emulator, as the suite sees it. What the emulator finds is thrown.
class EmulatedForward : public Implementation {
 public:
  EmulatedForward(const ForwardKernel& kernel, Properties properties, simt::Options options)
      : kernel_(kernel), properties_(properties), options_(options) {}

  std::string name() const override { return kernel_.name; }
  Properties properties() const override { return properties_; }
  Support supports_forward(const AttentionProblem& problem) const override {
    std::string reason = kernel_.refusal(problem.fields());
    return reason.empty() ? Support::yes() : Support::no(std::move(reason));
  }
  Support supports_backward(const AttentionProblem&) const override {
    return Support::no("a forward kernel has no backward pass");
  }

  void forward(const AttentionProblem& problem, const Inputs& in,
               const Outputs& out) const override {
    const ForwardTensors tensors = {in.q, in.k, in.v, out.o, static_cast<float*>(out.lse)};
    // Aligned to 256 bytes, and NaN.
    std::vector<unsigned char> memory(kernel_.workspace_bytes(problem.fields()) + 256, 0xff);
    unsigned char* workspace = memory.data();
    workspace += 256 - reinterpret_cast<std::uintptr_t>(workspace) % 256;
    simt::Stream stream = {options_, {}};
    const LaunchStatus status = kernel_.launch(problem.fields(), tensors, workspace, &stream);
    if (!status.ok()) throw std::runtime_error(status.error);
  }
  void backward(const AttentionProblem&, const Inputs&, const Outputs&, const Cotangents&,
                const Gradients&) const override {}

 private:
  const ForwardKernel& kernel_;
  Properties properties_;
  simt::Options options_;
};

}  // namespace flashbook::test
