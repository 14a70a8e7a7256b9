#include "sim/io/implementations.hpp"

namespace flashbook::io {
namespace {

Support supports(const AttentionProblem& problem) {
  if (problem.dtype() == DType::fp64)
    return Support::no(
        "dtype is fp64: it computes in fp32; pass fp32, fp16 or bf16, or use oracle");
  return Support::yes();
}

}  // namespace

std::string Fa2::name() const {
  if (blocks_ == default_blocks) return "io.fa2";
  return "io.fa2[" + std::to_string(blocks_.rows) + "x" + std::to_string(blocks_.columns) + "]";
}

Properties Fa2::properties() const {
  Properties properties;
  properties.nan_spreads_within = TileShape{blocks_.rows, blocks_.columns};
  return properties;
}

Support Fa2::supports_forward(const AttentionProblem& problem) const {
  return supports(problem);
}
Support Fa2::supports_backward(const AttentionProblem& problem) const {
  return supports(problem);
}

void Fa2::forward(const AttentionProblem& problem, const Inputs& inputs,
                  const Outputs& outputs) const {
  run(find_algorithm("fa2_forward"), problem, {inputs, outputs, {}, {}}, {{blocks_}});
}

void Fa2::backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                   const Cotangents& cotangents, const Gradients& gradients) const {
  run(find_algorithm("three_kernel_backward"), problem, {inputs, saved, cotangents, gradients},
      {{blocks_}});
}

Properties Standard::properties() const {
  Properties properties;
  properties.materialised = true;
  return properties;
}

Support Standard::supports_forward(const AttentionProblem& problem) const {
  return supports(problem);
}
Support Standard::supports_backward(const AttentionProblem& problem) const {
  return supports(problem);
}

void Standard::forward(const AttentionProblem& problem, const Inputs& inputs,
                       const Outputs& outputs) const {
  run(find_algorithm("standard_forward_lse"), problem, {inputs, outputs, {}, {}});
}

void Standard::backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                        const Cotangents& cotangents, const Gradients& gradients) const {
  run(find_algorithm("standard_backward"), problem, {inputs, saved, cotangents, gradients});
}

}  // namespace flashbook::io
