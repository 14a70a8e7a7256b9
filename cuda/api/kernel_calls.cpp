#include "cuda/api/kernel_calls.hpp"

#include <stdexcept>
#include <string>

namespace flashbook {
namespace {

/// Makes the device's copies of a problem's tensors.
class Copies {
 public:
  Copies(const AttentionProblem& problem, Device& device) : problem_(problem), device_(device) {}

  DeviceTensor query_side(const char* name, const void* host, const flashbook_strides& strides,
                          std::int64_t channels) const {
    const flashbook_problem& p = problem_.fields();
    return tensor(name, host, span_of(strides, p.batch, p.n_q, p.heads_q, channels));
  }
  DeviceTensor key_side(const char* name, const void* host, const flashbook_strides& strides,
                        std::int64_t channels) const {
    const flashbook_problem& p = problem_.fields();
    return tensor(name, host, span_of(strides, p.batch, p.n_k, p.heads_kv, channels));
  }
  DeviceTensor lse(const char* name, const void* host) const {
    return {device_, name, host, {0, problem_.lse_size()}, sizeof(float)};
  }

 private:
  DeviceTensor tensor(const char* name, const void* host, const Span& span) const {
    return {device_, name, host, span, static_cast<std::size_t>(bytes_of(problem_.dtype()))};
  }

  const AttentionProblem& problem_;
  Device& device_;
};

void check(const LaunchStatus& status) {
  if (!status.ok()) throw std::runtime_error(status.error);
}

}  // namespace

ForwardCall::ForwardCall(const ForwardKernel& kernel, const AttentionProblem& problem,
                         const Inputs& inputs, const Outputs& outputs, Device& device)
    : kernel_(kernel),
      problem_(problem),
      outputs_(outputs),
      device_(device),
      q_(Copies(problem, device).query_side("Q", inputs.q, problem->q, problem->d)),
      k_(Copies(problem, device).key_side("K", inputs.k, problem->k, problem->d)),
      v_(Copies(problem, device).key_side("V", inputs.v, problem->v, problem->d_v)),
      o_(Copies(problem, device).query_side("O", outputs.o, problem->o, problem->d_v)),
      lse_(Copies(problem, device).lse("LSE", outputs.lse)),
      workspace_(device, kernel.workspace_bytes(problem.fields())) {}

void ForwardCall::launch() const {
  const ForwardTensors tensors = {q_.data(), k_.data(), v_.data(), o_.data(),
                                  static_cast<float*>(lse_.data())};
  check(kernel_.launch(problem_.fields(), tensors, workspace_.data(), device_.stream()));
}

void ForwardCall::copy_back() const {
  workspace_.check_bands("the workspace");
  o_.copy_back(outputs_.o);
  lse_.copy_back(outputs_.lse);
}

BackwardCall::BackwardCall(const BackwardKernel& kernel, const AttentionProblem& problem,
                           const Inputs& inputs, const Outputs& saved, const Cotangents& cotangents,
                           const Gradients& gradients, Device& device)
    : kernel_(kernel),
      problem_(problem),
      gradients_(gradients),
      device_(device),
      q_(Copies(problem, device).query_side("Q", inputs.q, problem->q, problem->d)),
      k_(Copies(problem, device).key_side("K", inputs.k, problem->k, problem->d)),
      v_(Copies(problem, device).key_side("V", inputs.v, problem->v, problem->d_v)),
      o_(Copies(problem, device).query_side("O", saved.o, problem->o, problem->d_v)),
      lse_(Copies(problem, device).lse("LSE", saved.lse)),
      grad_o_(
          Copies(problem, device).query_side("dO", cotangents.o, problem->grad_o, problem->d_v)),
      grad_lse_(Copies(problem, device).lse("dLSE", cotangents.lse)),
      grad_q_(Copies(problem, device).query_side("dQ", gradients.q, problem->grad_q, problem->d)),
      grad_k_(Copies(problem, device).key_side("dK", gradients.k, problem->grad_k, problem->d)),
      grad_v_(Copies(problem, device).key_side("dV", gradients.v, problem->grad_v, problem->d_v)),
      workspace_(device, kernel.workspace_bytes(problem.fields())) {}

void BackwardCall::launch() const {
  const BackwardTensors tensors = {q_.data(),
                                   k_.data(),
                                   v_.data(),
                                   o_.data(),
                                   static_cast<const float*>(lse_.data()),
                                   grad_o_.data(),
                                   static_cast<const float*>(grad_lse_.data()),
                                   grad_q_.data(),
                                   grad_k_.data(),
                                   grad_v_.data()};
  check(kernel_.launch(problem_.fields(), tensors, workspace_.data(), device_.stream()));
}

void BackwardCall::copy_back() const {
  workspace_.check_bands("the workspace");
  grad_q_.copy_back(gradients_.q);
  grad_k_.copy_back(gradients_.k);
  grad_v_.copy_back(gradients_.v);
}

}  // namespace flashbook
