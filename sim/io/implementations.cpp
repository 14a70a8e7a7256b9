#include "sim/io/implementations.hpp"

#include <array>

#include "cpu_reference/error.hpp"

namespace flashbook::io {
namespace {

constexpr std::array all_pairs = {
    // name; forward, backward; schedule, deterministic
    BlockedPair{"io.fa2", "fa2_forward", "three_kernel_backward"},
    BlockedPair{"io.fa1", "fa1_forward_lse", "fa1_backward"},
    BlockedPair{"io.fa1_shipped", "fa1_forward_shipped", "fa1_backward_shipped"},
    BlockedPair{"io.fa2_literal", "fa2_forward", "fa2_backward"},
    BlockedPair{"io.fused", "fa2_forward", "fused_backward"},
    BlockedPair{"io.fused_in_order", "fa2_forward", "fused_backward", {}, true},
    BlockedPair{"io.split_kv", "split_kv_decode", "", {.splits = 3}},
};

const BlockedPair& pair_called(std::string_view name) {
  std::string names;
  for (const BlockedPair& pair : all_pairs) {
    if (pair.name == name) return pair;
    names += (names.empty() ? "" : ", ") + std::string(pair.name);
  }
  throw InputError("name is " + std::string(name) + ": pass one of " + names);
}

Support supports(const AttentionProblem& problem) {
  if (problem.dtype() == DType::fp64)
    return Support::no(
        "dtype is fp64: it computes in fp32; pass fp32, fp16 or bf16, or use oracle");
  return Support::yes();
}

}  // namespace

std::span<const BlockedPair> blocked_pairs() {
  return all_pairs;
}

Blocked::Blocked(std::string_view name) : Blocked(name, pair_called(name).schedule) {}

Blocked::Blocked(std::string_view name, const Schedule& schedule)
    : pair_(pair_called(name)),
      forward_(find_algorithm(pair_.forward)),
      backward_(pair_.backward.empty() ? nullptr : &find_algorithm(pair_.backward)),
      schedule_(schedule) {}

std::string Blocked::name() const {
  std::string name(pair_.name);
  if (schedule_ == pair_.schedule) return name;
  name +=
      "[" + std::to_string(schedule_.blocks.rows) + "x" + std::to_string(schedule_.blocks.columns);
  if (forward_.takes.splits) name += "/" + std::to_string(schedule_.splits);
  return name + "]";
}

Properties Blocked::properties() const {
  Properties properties;
  properties.deterministic_dq = pair_.deterministic || !(backward_ && backward_->atomic_sums);
  properties.nan_spreads_within = TileShape{schedule_.blocks.rows, schedule_.blocks.columns};
  return properties;
}

Support Blocked::supports_forward(const AttentionProblem& problem) const {
  return supports(problem);
}

Support Blocked::supports_backward(const AttentionProblem& problem) const {
  if (backward_ == nullptr)
    return Support::no("decode has no backward pass: take another implementation, such as io.fa2");
  return supports(problem);
}

void Blocked::forward(const AttentionProblem& problem, const Inputs& inputs,
                      const Outputs& outputs) const {
  run(forward_, problem, {inputs, outputs, {}, {}}, {schedule_});
}

void Blocked::backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                       const Cotangents& cotangents, const Gradients& gradients) const {
  if (backward_ == nullptr) throw InputError(supports_backward(problem).reason());
  RunOptions options = {schedule_};
  options.deterministic = pair_.deterministic;
  run(*backward_, problem, {inputs, saved, cotangents, gradients}, options);
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
