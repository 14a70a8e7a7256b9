#include "cuda/api/machine.hpp"

namespace flashbook {

std::span<const KernelPair> emulated_pairs() {
  using namespace emulated;
  static const KernelPair pairs[] = {
      {"standard", &standard_forward, &standard_backward},
      {"fa1", &fa1_forward, &three_kernel_backward},
      {"one_pass", &one_pass_forward, &three_kernel_backward},
      {"tensor_core", &tensor_core_forward, &three_kernel_backward},
  };
  return pairs;
}

std::string_view name(Machine machine) {
  return machine == Machine::cpu ? "cpu" : "gpu";
}

}  // namespace flashbook
