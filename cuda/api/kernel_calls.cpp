#include "cuda/api/kernel_calls.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "cuda/api/kernel_tensors.hpp"
#include "cuda/api/message.hpp"

namespace flashbook {
namespace {

void check(const LaunchStatus& status) {
  if (!status.ok()) throw std::runtime_error(status.error);
}

/// Calls a table's function with room for its message, and throws what it returns.
template <class Call>
void checked(Call&& call) {
  Message message;
  const int status = call(message.room());
  if (status == FLASHBOOK_OK) return;
  if (status == FLASHBOOK_OUT_OF_MEMORY) throw std::bad_alloc();
  throw std::runtime_error(message.text(status));
}

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
  /// The LSE or its gradient.
  DeviceTensor lse(const char* name, const void* host) const {
    const bool is_double = problem_.dtype() == DType::fp64;
    return {
        device_, name, host, {0, problem_.lse_size()}, is_double ? sizeof(double) : sizeof(float)};
  }
  DeviceTensor contiguous(const char* name, const void* host, std::int64_t size) const {
    return tensor(name, host, {0, size});
  }
  DeviceTensor bias(const void* host) const {
    const flashbook_problem& p = problem_.fields();
    if (!p.has_bias || problem_.bias_size() == 0) return contiguous("bias", host, 0);
    std::int64_t first = 0, last = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const std::int64_t reach = (p.bias_shape[axis] - 1) * p.bias_strides[axis];
      (reach < 0 ? first : last) += reach;
    }
    return tensor("bias", host, {first, last - first + 1});
  }
  DeviceTensor offsets(const char* name, const std::vector<std::int64_t>& cu_seqlens) const {
    const auto size = static_cast<std::int64_t>(cu_seqlens.size());
    return {device_, name, size > 0 ? cu_seqlens.data() : nullptr, {0, size}, sizeof(std::int64_t)};
  }

 private:
  DeviceTensor tensor(const char* name, const void* host, const Span& span) const {
    return {device_, name, host, span, static_cast<std::size_t>(bytes_of(problem_.dtype()))};
  }

  const AttentionProblem& problem_;
  Device& device_;
};

/// Fills in what both structs of tensors have.
template <class Tensors>
void point_to(const DeviceInputs& in, Tensors& tensors) {
  tensors.size = sizeof tensors;
  tensors.q = in.q.data(), tensors.k = in.k.data(), tensors.v = in.v.data();
  tensors.bias = in.bias.data(), tensors.alibi = in.alibi.data(), tensors.sinks = in.sinks.data();
  tensors.cu_seqlens_q = static_cast<const std::int64_t*>(in.cu_seqlens_q.data());
  tensors.cu_seqlens_k = static_cast<const std::int64_t*>(in.cu_seqlens_k.data());
}

}  // namespace

ForwardPass::ForwardPass(const ForwardKernel& kernel) {
  workspace_bytes = kernel.workspace_bytes;
  launch = [&kernel](const flashbook_problem& problem, const flashbook_forward_tensors& tensors,
                     void* workspace, void* stream) {
    check(kernel.launch(problem, kernel_tensors(tensors), workspace, stream));
  };
}

BackwardPass::BackwardPass(const BackwardKernel& kernel) {
  workspace_bytes = kernel.workspace_bytes;
  launch = [&kernel](const flashbook_problem& problem, const flashbook_backward_tensors& tensors,
                     void* workspace, void* stream) {
    check(kernel.launch(problem, kernel_tensors(tensors), workspace, stream));
  };
}

ForwardPass::ForwardPass(const flashbook_implementation& table) {
  workspace_bytes = [&table](const flashbook_problem& problem) -> std::size_t {
    return table.forward_workspace_bytes ? table.forward_workspace_bytes(&table, &problem) : 0;
  };
  launch = [&table](const flashbook_problem& problem, const flashbook_forward_tensors& tensors,
                    void* workspace, void* stream) {
    checked([&](char* message) {
      return table.forward(&table, &problem, &tensors, workspace, stream, message);
    });
  };
}

BackwardPass::BackwardPass(const flashbook_implementation& table) {
  workspace_bytes = [&table](const flashbook_problem& problem) -> std::size_t {
    return table.backward_workspace_bytes ? table.backward_workspace_bytes(&table, &problem) : 0;
  };
  launch = [&table](const flashbook_problem& problem, const flashbook_backward_tensors& tensors,
                    void* workspace, void* stream) {
    checked([&](char* message) {
      return table.backward(&table, &problem, &tensors, workspace, stream, message);
    });
  };
}

DeviceInputs::DeviceInputs(const AttentionProblem& problem, const Inputs& inputs, Device& device)
    : q(Copies(problem, device).query_side("Q", inputs.q, problem->q, problem->d)),
      k(Copies(problem, device).key_side("K", inputs.k, problem->k, problem->d)),
      v(Copies(problem, device).key_side("V", inputs.v, problem->v, problem->d_v)),
      bias(Copies(problem, device).bias(inputs.bias)),
      alibi(Copies(problem, device).contiguous("slopes", inputs.alibi, problem.alibi_size())),
      sinks(Copies(problem, device).contiguous("sinks", inputs.sinks, problem->heads_q)),
      cu_seqlens_q(Copies(problem, device).offsets("cu_seqlens_q", problem.cu_seqlens_q())),
      cu_seqlens_k(Copies(problem, device).offsets("cu_seqlens_k", problem.cu_seqlens_k())) {}

void DeviceInputs::check_unchanged() const {
  for (const DeviceTensor* each : {&q, &k, &v, &bias, &alibi, &sinks, &cu_seqlens_q, &cu_seqlens_k})
    each->check_unchanged();
}

ForwardCall::ForwardCall(ForwardPass pass, const AttentionProblem& problem, const Inputs& inputs,
                         const Outputs& outputs, Device& device)
    : pass_(std::move(pass)),
      problem_(problem),
      outputs_(outputs),
      device_(device),
      in_(problem, inputs, device),
      o_(Copies(problem, device).query_side("O", outputs.o, problem->o, problem->d_v)),
      lse_(Copies(problem, device).lse("LSE", outputs.lse)),
      workspace_(device, "the workspace", pass_.workspace_bytes(problem.fields())) {}

void ForwardCall::launch() const {
  flashbook_forward_tensors tensors = {};
  point_to(in_, tensors);
  tensors.o = o_.data(), tensors.lse = lse_.data();
  pass_.launch(problem_.fields(), tensors, workspace_.data(), device_.stream());
}

void ForwardCall::copy_back() const {
  workspace_.check_bands();
  in_.check_unchanged();
  o_.copy_back(outputs_.o);
  lse_.copy_back(outputs_.lse);
}

BackwardCall::BackwardCall(BackwardPass pass, const AttentionProblem& problem, const Inputs& inputs,
                           const Outputs& saved, const Cotangents& cotangents,
                           const Gradients& gradients, Device& device)
    : pass_(std::move(pass)),
      problem_(problem),
      gradients_(gradients),
      device_(device),
      in_(problem, inputs, device),
      o_(Copies(problem, device).query_side("O", saved.o, problem->o, problem->d_v)),
      lse_(Copies(problem, device).lse("LSE", saved.lse)),
      grad_o_(
          Copies(problem, device).query_side("dO", cotangents.o, problem->grad_o, problem->d_v)),
      grad_lse_(Copies(problem, device).lse("dLSE", cotangents.lse)),
      grad_q_(Copies(problem, device).query_side("dQ", gradients.q, problem->grad_q, problem->d)),
      grad_k_(Copies(problem, device).key_side("dK", gradients.k, problem->grad_k, problem->d)),
      grad_v_(Copies(problem, device).key_side("dV", gradients.v, problem->grad_v, problem->d_v)),
      grad_bias_(Copies(problem, device).contiguous("dBias", gradients.bias, problem.bias_size())),
      grad_sinks_(Copies(problem, device).contiguous("dSinks", gradients.sinks, problem->heads_q)),
      workspace_(device, "the workspace", pass_.workspace_bytes(problem.fields())) {}

void BackwardCall::launch() const {
  flashbook_backward_tensors tensors = {};
  point_to(in_, tensors);
  tensors.o = o_.data(), tensors.lse = lse_.data();
  tensors.grad_o = grad_o_.data(), tensors.grad_lse = grad_lse_.data();
  tensors.grad_q = grad_q_.data(), tensors.grad_k = grad_k_.data();
  tensors.grad_v = grad_v_.data(), tensors.grad_bias = grad_bias_.data();
  tensors.grad_sinks = grad_sinks_.data();
  pass_.launch(problem_.fields(), tensors, workspace_.data(), device_.stream());
}

void BackwardCall::copy_back() const {
  workspace_.check_bands();
  in_.check_unchanged();
  for (const DeviceTensor* read : {&o_, &lse_, &grad_o_, &grad_lse_}) read->check_unchanged();
  grad_q_.copy_back(gradients_.q);
  grad_k_.copy_back(gradients_.k);
  grad_v_.copy_back(gradients_.v);
  grad_bias_.copy_back(gradients_.bias);
  grad_sinks_.copy_back(gradients_.sinks);
}

}  // namespace flashbook
