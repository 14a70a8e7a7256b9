#include "walkthrough/bench/kernel_team.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include "cuda/api/device_memory.hpp"
#include "cuda/api/implementations.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook::bench {

using conformance::Output;
using conformance::Results;

/// Tensors of one launch. O and LSE are there for backward passes.
struct InputSet {
  InputSet(Device& device, std::size_t bytes, std::size_t saved, std::size_t saved_lse,
           std::size_t offsets)
      : q(device, "Q", bytes),
        k(device, "K", bytes),
        v(device, "V", bytes),
        grad_o(device, "dO", saved),
        o(device, "O", saved),
        lse(device, "LSE", saved_lse),
        cu_seqlens(device, "cu_seqlens", offsets) {}

  /// Inputs of a forward pass; outputs are null.
  ForwardTensors inputs() const {
    ForwardTensors tensors = {q.data(), k.data(), v.data(), nullptr, nullptr};
    tensors.cu_seqlens_q = tensors.cu_seqlens_k =
        reinterpret_cast<const std::int64_t*>(cu_seqlens.data());
    return tensors;
  }

  DeviceMemory q, k, v, grad_o, o, lse;
  DeviceMemory cu_seqlens;  ///< of queries and of keys; empty unless packed
};

namespace {

std::size_t tensor_bytes(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  return static_cast<std::size_t>(p.batch * p.heads_q * p.n_q * p.d * bytes_of(problem.dtype()));
}

std::size_t lse_bytes(const AttentionProblem& problem) {
  return static_cast<std::size_t>(problem.lse_size()) * sizeof(float);
}

void check(const LaunchStatus& status) {
  if (!status.ok()) throw std::runtime_error(status.error);
}

/// Elements that still are 0xff, NaN, as memory of a device is until it is written.
template <class Bits>
std::size_t count_unwritten(const std::vector<std::byte>& bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &bytes[i], sizeof bits);
    count += bits == static_cast<Bits>(-1);
  }
  return count;
}

/// Copies an output to the host.
void collect(const DeviceMemory& from, void* to, std::int64_t element_bytes) {
  const std::vector<std::byte> bytes = from.read();
  const std::size_t unwritten = element_bytes == 2 ? count_unwritten<std::uint16_t>(bytes)
                                                   : count_unwritten<std::uint32_t>(bytes);
  if (unwritten > 0)
    throw std::runtime_error(std::string(from.place().name) + ": " + std::to_string(unwritten) +
                             " elements were not written");
  std::memcpy(to, bytes.data(), bytes.size());
}

/// Launches on each set in turn, with outputs of their own and one workspace.
template <class Kernel, class Set>
class KernelContestant : public Contestant {
 public:
  KernelContestant(const Task& task, const Kernel& kernel, Device& device,
                   const std::vector<std::unique_ptr<InputSet>>& inputs)
      : problem_(task.problem),
        kernel_(kernel),
        workspace_(device, "the workspace", kernel.workspace_bytes(task.problem.fields())) {
    std::vector<std::function<void()>> launches;
    for (const auto& input : inputs) {
      sets_.push_back(std::make_unique<Set>(*input, device, task.problem));
      launches.push_back([this, &device, set = sets_.back().get()] {
        check(
            kernel_.launch(problem_.fields(), set->tensors(), workspace_.data(), device.stream()));
      });
    }
    repeated_ = device.repeat(std::move(launches));
  }

  double seconds() override {
    repeated_->settle();
    return repeated_->seconds();
  }
  const Results& results(Results& room) override {
    workspace_.check_bands();
    for (const auto& set : sets_) set->check_bands();
    sets_.back()->collect(room, bytes_of(problem_.dtype()));
    return room;
  }

 private:
  const AttentionProblem& problem_;
  const Kernel& kernel_;
  DeviceMemory workspace_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::unique_ptr<Repeated> repeated_;
};

struct ForwardSet {
  ForwardSet(const InputSet& from, Device& device, const AttentionProblem& problem)
      : input(from),
        o(device, "O", tensor_bytes(problem)),
        lse(device, "LSE", lse_bytes(problem)) {}

  ForwardTensors tensors() const {
    ForwardTensors tensors = input.inputs();
    tensors.o = o.data();
    tensors.lse = reinterpret_cast<float*>(lse.data());
    return tensors;
  }
  void collect(Results& room, std::int64_t element_bytes) const {
    bench::collect(o, room.outputs().o, element_bytes);
    bench::collect(lse, room.outputs().lse, sizeof(float));
  }
  void check_bands() const {
    o.check_bands();
    lse.check_bands();
  }
  static std::size_t bytes(const AttentionProblem& problem) {
    return tensor_bytes(problem) + lse_bytes(problem);
  }

  const InputSet& input;
  DeviceMemory o, lse;
};

struct BackwardSet {
  BackwardSet(const InputSet& from, Device& device, const AttentionProblem& problem)
      : input(from),
        grad_q(device, "dQ", tensor_bytes(problem)),
        grad_k(device, "dK", tensor_bytes(problem)),
        grad_v(device, "dV", tensor_bytes(problem)) {}

  BackwardTensors tensors() const {
    return {input.q.data(),
            input.k.data(),
            input.v.data(),
            input.o.data(),
            reinterpret_cast<const float*>(input.lse.data()),
            input.grad_o.data(),
            nullptr,
            grad_q.data(),
            grad_k.data(),
            grad_v.data()};
  }
  void collect(Results& room, std::int64_t element_bytes) const {
    bench::collect(input.o, room.outputs().o, element_bytes);
    bench::collect(input.lse, room.outputs().lse, sizeof(float));
    bench::collect(grad_q, room.gradients().q, element_bytes);
    bench::collect(grad_k, room.gradients().k, element_bytes);
    bench::collect(grad_v, room.gradients().v, element_bytes);
  }
  void check_bands() const {
    grad_q.check_bands();
    grad_k.check_bands();
    grad_v.check_bands();
  }
  static std::size_t bytes(const AttentionProblem& problem) { return 3 * tensor_bytes(problem); }

  const InputSet& input;
  DeviceMemory grad_q, grad_k, grad_v;
};

std::string name_of(const char* kernel) {
  return std::string("cuda.") + kernel + "@gpu";
}

/// The entry of a kernel, which `alone` has no other beside; it says why it does not run, if it
/// does not.
template <class Set, class Kernel>
Entry entry_of(const Task& task, const Kernel& kernel, const KernelPair& alone, Device& device,
               const std::vector<std::unique_ptr<InputSet>>& inputs) {
  Entry entry = {name_of(kernel.name), KernelAttention(alone, Machine::gpu, nullptr).properties(),
                 outputs_of(task.pass), nullptr, kernel.refusal(task.problem.fields())};
  if (!entry.why_not.empty()) return entry;
  const std::size_t needed =
      kernel.workspace_bytes(task.problem.fields()) + inputs.size() * Set::bytes(task.problem);
  const Device::Memory memory = device.memory();
  try {
    if (needed > memory.free) throw std::bad_alloc();
    entry.contestant =
        std::make_unique<KernelContestant<Kernel, Set>>(task, kernel, device, inputs);
  } catch (const std::bad_alloc&) {
    entry.why_not = "needs " + short_bytes(static_cast<double>(needed)) +
                    " beside its inputs; of the device's " +
                    short_bytes(static_cast<double>(memory.total)) + " " +
                    short_bytes(static_cast<double>(memory.free)) + " are free";
  } catch (const std::runtime_error& error) {
    entry.why_not = std::string("does not run: ") + error.what();
    entry.failed = true;
  }
  return entry;
}

}  // namespace

KernelTeam::KernelTeam(Device& device, std::span<const KernelPair> pairs)
    : device_(device), pairs_(pairs) {}

KernelTeam::~KernelTeam() = default;

/// Sets that together exceed the L2, each with the same numbers.
void KernelTeam::load(const Task& task) {
  const std::size_t bytes = tensor_bytes(task.problem), lse = lse_bytes(task.problem);
  const bool backward = task.pass == Pass::backward;
  const Inputs inputs = task.tensors.inputs();
  const std::vector<std::int64_t>& members = task.problem.cu_seqlens_q();  // those of keys, too
  const std::size_t offsets = members.size() * sizeof(std::int64_t);
  sets_.clear();
  for (std::size_t n = rotated_sets(4 * bytes); n > 0; --n) {
    sets_.push_back(std::make_unique<InputSet>(device_, bytes, backward ? bytes : 0,
                                               backward ? lse : 0, offsets));
    const InputSet& set = *sets_.back();
    device_.copy_in(set.q.data(), inputs.q, bytes);
    device_.copy_in(set.k.data(), inputs.k, bytes);
    device_.copy_in(set.v.data(), inputs.v, bytes);
    if (offsets > 0) device_.copy_in(set.cu_seqlens.data(), members.data(), offsets);
    if (backward) device_.copy_in(set.grad_o.data(), task.tensors.cotangents().o, bytes);
  }
}

/// O and LSE for the backward kernels to read.
void KernelTeam::save_forward(const Task& task) {
  const flashbook_problem& p = task.problem.fields();
  const ForwardKernel* saver = nullptr;
  for (const KernelPair& pair : pairs_)
    if (pair.forward && pair.forward->refusal(p).empty()) saver = pair.forward;
  if (!saver) return;
  const DeviceMemory workspace(device_, "the workspace", saver->workspace_bytes(p));
  for (const auto& set : sets_) {
    ForwardTensors tensors = set->inputs();
    tensors.o = set->o.data();
    tensors.lse = reinterpret_cast<float*>(set->lse.data());
    check(saver->launch(p, tensors, workspace.data(), device_.stream()));
  }
  device_.finish();
}

std::vector<Entry> KernelTeam::enter(const Task& task, const Wanted& wanted) {
  load(task);
  if (task.pass == Pass::backward) save_forward(task);
  std::vector<Entry> entries;
  const auto is_new = [&](const char* kernel) {
    const std::string impl = name_of(kernel);
    return wanted(impl) && std::none_of(entries.begin(), entries.end(),
                                        [&](const Entry& e) { return e.impl == impl; });
  };
  for (const KernelPair& pair : pairs_) {
    if (task.pass == Pass::forward && pair.forward && is_new(pair.forward->name))
      entries.push_back(entry_of<ForwardSet>(
          task, *pair.forward, {pair.forward->name, pair.forward, nullptr}, device_, sets_));
    if (task.pass == Pass::backward && pair.backward && is_new(pair.backward->name))
      entries.push_back(entry_of<BackwardSet>(
          task, *pair.backward, {pair.backward->name, nullptr, pair.backward}, device_, sets_));
  }
  return entries;
}

}  // namespace flashbook::bench
