#include "cuda/api/kernel_table.hpp"

#include <algorithm>
#include <optional>

#include "cuda/api/arguments.hpp"
#include "cuda/api/kernel_tensors.hpp"
#include "cuda/api/status.hpp"

namespace flashbook {
namespace {

const KernelTable& object(const flashbook_implementation* self) {
  return *static_cast<const KernelTable*>(self->state);
}

const ForwardKernel* kernel_of(const flashbook_implementation* self, ForwardTensors) {
  return object(self).pair().forward;
}
const BackwardKernel* kernel_of(const flashbook_implementation* self, BackwardTensors) {
  return object(self).pair().backward;
}

template <class Kernel>
void check_taken(const Kernel& kernel, const flashbook_problem* problem) {
  const AttentionProblem checked = checked_problem(problem);
  const std::string refusal = kernel.refusal(checked.fields());
  if (!refusal.empty()) throw StatusError(FLASHBOOK_REFUSED, refusal);
}

template <class Tensors>
int supports(const flashbook_implementation* self, const flashbook_problem* problem,
             char* message) {
  return status_of(message, [&] { check_taken(*kernel_of(self, Tensors{}), problem); });
}

template <class Tensors>
std::size_t workspace_bytes(const flashbook_implementation* self,
                            const flashbook_problem* problem) {
  return kernel_of(self, Tensors{})->workspace_bytes(*problem);
}

/// `Given` is the C interface's struct of tensors, `Tensors` the kernel's.
template <class Tensors, class Given>
int launch(const flashbook_implementation* self, const flashbook_problem* problem,
           const Given* tensors, void* workspace, void* stream, char* message) {
  return status_of(message, [&] {
    const auto& kernel = *kernel_of(self, Tensors{});
    check_taken(kernel, problem);
    check_tensors(*problem, tensors);
    if (!workspace && kernel.workspace_bytes(*problem) > 0)
      throw InputError(
          "workspace is null, and the kernel needs one: pass what its workspace query says");
    std::optional<CurrentGpu> current;
    if (object(self).machine() == Machine::gpu) current.emplace(pointers(*tensors, workspace));
    const LaunchStatus status =
        kernel.launch(*problem, kernel_tensors(*tensors), workspace, stream);
    if (!status.ok()) throw StatusError(FLASHBOOK_FAILED, status.error);
  });
}

/// eps_exp as it is by default: expf, and exp2_approx of what one multiplication gives.
flashbook_properties properties_of(const KernelPair& pair) {
  const KernelProperties none;
  const KernelProperties& forward = pair.forward ? pair.forward->properties : none;
  const KernelProperties& backward = pair.backward ? pair.backward->properties : none;
  flashbook_properties properties = {};
  properties.materialised = forward.materialised || backward.materialised;
  properties.nan_rows = std::max(forward.nan_rows, backward.nan_rows);
  properties.nan_keys = std::max(forward.nan_keys, backward.nan_keys);
  return properties;
}

}  // namespace

KernelTable::KernelTable(const KernelPair& pair, Machine machine)
    : pair_(pair),
      machine_(machine),
      name_(std::string("cuda.") + pair.name + "@" + std::string(flashbook::name(machine))),
      table_{} {
  table_.size = sizeof table_;
  table_.version = FLASHBOOK_INTERFACE_VERSION;
  table_.name = name_.c_str();
  table_.state = this;
  table_.memory = machine == Machine::gpu ? FLASHBOOK_CUDA : FLASHBOOK_HOST;
  table_.properties = properties_of(pair);
  if (pair.forward) {
    table_.supports_forward = supports<ForwardTensors>;
    table_.forward_workspace_bytes = workspace_bytes<ForwardTensors>;
    table_.forward = launch<ForwardTensors, flashbook_forward_tensors>;
  }
  if (pair.backward) {
    table_.supports_backward = supports<BackwardTensors>;
    table_.backward_workspace_bytes = workspace_bytes<BackwardTensors>;
    table_.backward = launch<BackwardTensors, flashbook_backward_tensors>;
  }
}

}  // namespace flashbook
