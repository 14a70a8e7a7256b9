// A pass of attention whose tensors lie on a device: launch it as often as you like.
#pragma once

#include "cpu_reference/implementation.hpp"
#include "cuda/api/device_memory.hpp"
#include "cuda/backward/kernels.hpp"
#include "cuda/forward/kernels.hpp"

namespace flashbook {

/// A forward pass. The kernel takes the problem, and the tensors outlive this.
class ForwardCall {
 public:
  ForwardCall(const ForwardKernel& kernel, const AttentionProblem& problem, const Inputs& inputs,
              const Outputs& outputs, Device& device);
  /// Throws std::runtime_error with what went wrong, or was found, while it was launched.
  void launch() const;
  /// What the kernel wrote, to the caller's outputs. Call finish() of the device before.
  void copy_back() const;

 private:
  const ForwardKernel& kernel_;
  const AttentionProblem& problem_;
  Outputs outputs_;
  Device& device_;
  DeviceTensor q_, k_, v_, o_, lse_;
  DeviceMemory workspace_;
};

/// A backward pass.
class BackwardCall {
 public:
  BackwardCall(const BackwardKernel& kernel, const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& saved, const Cotangents& cotangents, const Gradients& gradients,
               Device& device);
  void launch() const;
  void copy_back() const;

 private:
  const BackwardKernel& kernel_;
  const AttentionProblem& problem_;
  Gradients gradients_;
  Device& device_;
  DeviceTensor q_, k_, v_, o_, lse_, grad_o_, grad_lse_, grad_q_, grad_k_, grad_v_;
  DeviceMemory workspace_;
};

}  // namespace flashbook
