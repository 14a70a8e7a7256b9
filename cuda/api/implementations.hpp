#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {

/// A pair of kernels on a machine: `cuda.one_pass@cpu`, `cuda.one_pass@gpu`. Every call makes a
/// device object of its own, and throws what its launches report.
class KernelAttention : public Implementation {
 public:
  using MakeDevice = std::function<std::unique_ptr<Device>()>;

  KernelAttention(const KernelPair& pair, Machine machine, MakeDevice make_device);

  std::string name() const override;
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;

 private:
  KernelPair pair_;
  Machine machine_;
  MakeDevice make_device_;
};

/// All pairs on the emulator; the first thing that it finds is thrown.
std::vector<std::unique_ptr<Implementation>> emulated_implementations(const simt::Options& options);
/// All pairs on the GPU. Their calls throw InputError where there is none.
std::vector<std::unique_ptr<Implementation>> gpu_implementations();

}  // namespace flashbook
