// A pass of attention whose tensors lie on a device: launch it as often as you like.
#pragma once

#include <functional>

#include "cpu_reference/implementation.hpp"
#include "cuda/api/device_memory.hpp"
#include "cuda/api/flashbook.h"
#include "cuda/backward/kernels.hpp"
#include "cuda/forward/kernels.hpp"

namespace flashbook {

/// What a call launches: a kernel of ours, or a pass of a table of the C interface, which outlives
/// it.
template <class Tensors>
struct Pass {
  std::function<std::size_t(const flashbook_problem&)> workspace_bytes;
  /// Throws std::runtime_error with what went wrong, or std::bad_alloc.
  std::function<void(const flashbook_problem&, const Tensors&, void* workspace, void* stream)>
      launch;
};

struct ForwardPass : Pass<flashbook_forward_tensors> {
  ForwardPass(const ForwardKernel& kernel);
  ForwardPass(const flashbook_implementation& table);
};
struct BackwardPass : Pass<flashbook_backward_tensors> {
  BackwardPass(const BackwardKernel& kernel);
  BackwardPass(const flashbook_implementation& table);
};

/// The device's copies of what both passes read.
struct DeviceInputs {
  DeviceInputs(const AttentionProblem& problem, const Inputs& inputs, Device& device);
  void check_unchanged() const;

  DeviceTensor q, k, v, bias, alibi, sinks, cu_seqlens_q, cu_seqlens_k;
};

/// A forward pass. It takes the problem, and the tensors outlive this.
class ForwardCall {
 public:
  ForwardCall(ForwardPass pass, const AttentionProblem& problem, const Inputs& inputs,
              const Outputs& outputs, Device& device);
  /// Throws std::runtime_error with what went wrong, or was found, while it was launched.
  void launch() const;
  /// What was written, to the caller's outputs. Call finish() of the device before. Throws
  /// std::runtime_error that names what was written to, if it is nothing that is the pass's own.
  void copy_back() const;

 private:
  ForwardPass pass_;
  const AttentionProblem& problem_;
  Outputs outputs_;
  Device& device_;
  DeviceInputs in_;
  DeviceTensor o_, lse_;
  DeviceMemory workspace_;
};

/// A backward pass.
class BackwardCall {
 public:
  BackwardCall(BackwardPass pass, const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& saved, const Cotangents& cotangents, const Gradients& gradients,
               Device& device);
  void launch() const;
  void copy_back() const;

 private:
  BackwardPass pass_;
  const AttentionProblem& problem_;
  Gradients gradients_;
  Device& device_;
  DeviceInputs in_;
  DeviceTensor o_, lse_, grad_o_, grad_lse_, grad_q_, grad_k_, grad_v_, grad_bias_, grad_sinks_;
  DeviceMemory workspace_;
};

}  // namespace flashbook
