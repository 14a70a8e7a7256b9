#include "cuda/api/implementations.hpp"

#include <utility>

namespace flashbook {
namespace {

std::vector<std::unique_ptr<Implementation>> on(Machine machine,
                                                const KernelAttention::MakeDevice& make_device) {
  std::vector<std::unique_ptr<Implementation>> all;
  const bool is_hopper = machine == Machine::cpu || find_gpu().capability == 90;
  for (const KernelPair& pair : machine == Machine::cpu ? emulated_pairs() : gpu_pairs())
    if (is_hopper || !pair.forward->properties.hopper_only)
      all.push_back(std::make_unique<KernelAttention>(pair, machine, make_device));
  return all;
}

}  // namespace

KernelAttention::KernelAttention(const KernelPair& pair, Machine machine, MakeDevice make_device)
    : KernelAttention(std::make_unique<KernelTable>(pair, machine), std::move(make_device)) {}

KernelAttention::KernelAttention(std::unique_ptr<const KernelTable> table, MakeDevice make_device)
    : TableAttention(table->table(), std::move(make_device)), table_(std::move(table)) {}

std::vector<std::unique_ptr<Implementation>> emulated_implementations(
    const simt::Options& options) {
  return on(Machine::cpu, [options] { return std::make_unique<EmulatedDevice>(options); });
}

std::vector<std::unique_ptr<Implementation>> gpu_implementations() {
  return on(Machine::gpu, gpu_device);
}

}  // namespace flashbook
