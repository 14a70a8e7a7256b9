#include "cuda/api/implementations.hpp"

#include <algorithm>
#include <utility>

#include "cuda/api/kernel_calls.hpp"

namespace flashbook {
namespace {

template <class Kernel>
Support support(const Kernel* kernel, const char* pass, const AttentionProblem& problem) {
  if (!kernel)
    return Support::no(std::string("there is no ") + pass +
                       " kernel yet; use another implementation (see list)");
  const std::string refusal = kernel->refusal(problem.fields());
  return refusal.empty() ? Support::yes() : Support::no(refusal);
}

template <class Call>
void run(const Call& call, Device& device) {
  call.launch();
  device.finish();
  call.copy_back();
}

std::vector<std::unique_ptr<Implementation>> on(Machine machine,
                                                const KernelAttention::MakeDevice& make_device) {
  std::vector<std::unique_ptr<Implementation>> all;
  for (const KernelPair& pair : machine == Machine::cpu ? emulated_pairs() : gpu_pairs())
    all.push_back(std::make_unique<KernelAttention>(pair, machine, make_device));
  return all;
}

}  // namespace

KernelAttention::KernelAttention(const KernelPair& pair, Machine machine, MakeDevice make_device)
    : pair_(pair), machine_(machine), make_device_(std::move(make_device)) {}

std::string KernelAttention::name() const {
  return std::string("cuda.") + pair_.name + "@" + std::string(flashbook::name(machine_));
}

/// eps_exp as it is by default: expf, and exp2_approx of what one multiplication gives.
Properties KernelAttention::properties() const {
  const KernelProperties none;
  const KernelProperties& forward = pair_.forward ? pair_.forward->properties : none;
  const KernelProperties& backward = pair_.backward ? pair_.backward->properties : none;
  Properties properties;
  properties.materialised = forward.materialised || backward.materialised;
  const TileShape tile = {std::max(forward.nan_rows, backward.nan_rows),
                          std::max(forward.nan_keys, backward.nan_keys)};
  if (tile.rows > 0) properties.nan_spreads_within = tile;
  return properties;
}

Support KernelAttention::supports_forward(const AttentionProblem& problem) const {
  return support(pair_.forward, "forward", problem);
}

Support KernelAttention::supports_backward(const AttentionProblem& problem) const {
  return support(pair_.backward, "backward", problem);
}

void KernelAttention::forward(const AttentionProblem& problem, const Inputs& inputs,
                              const Outputs& outputs) const {
  const std::unique_ptr<Device> device = make_device_();
  run(ForwardCall(*pair_.forward, problem, inputs, outputs, *device), *device);
}

void KernelAttention::backward(const AttentionProblem& problem, const Inputs& inputs,
                               const Outputs& saved, const Cotangents& cotangents,
                               const Gradients& gradients) const {
  const std::unique_ptr<Device> device = make_device_();
  run(BackwardCall(*pair_.backward, problem, inputs, saved, cotangents, gradients, *device),
      *device);
}

std::vector<std::unique_ptr<Implementation>> emulated_implementations(
    const simt::Options& options) {
  return on(Machine::cpu, [options] { return std::make_unique<EmulatedDevice>(options); });
}

std::vector<std::unique_ptr<Implementation>> gpu_implementations() {
  return on(Machine::gpu, gpu_device);
}

}  // namespace flashbook
