#include "walkthrough/bench/cpu_team.hpp"

#include <chrono>
#include <set>
#include <stdexcept>

#include "cuda/api/implementations.hpp"

namespace flashbook::bench {
namespace {

using conformance::Results;

class CpuContestant : public Contestant {
 public:
  /// Runs once, to warm up, and the forward pass before a backward one.
  CpuContestant(const Task& task, const Implementation& implementation)
      : task_(task), implementation_(implementation), results_(task.problem) {
    if (task.pass == Pass::backward)
      implementation.forward(task.problem, task.tensors.inputs(), results_.outputs());
    call();
  }

  double seconds() override {
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const Results& results(Results&) override {
    for (const conformance::Output output : outputs_of(task_.pass))
      if (const std::string fault = find_misplaced_writes(results_[output], output); !fault.empty())
        throw std::runtime_error(fault);
    return results_;
  }

 private:
  void call() {
    const Inputs inputs = task_.tensors.inputs();
    if (task_.pass == Pass::forward)
      implementation_.forward(task_.problem, inputs, results_.outputs());
    else
      implementation_.backward(task_.problem, inputs, results_.outputs(),
                               task_.tensors.cotangents(), results_.gradients());
  }

  Task task_;
  const Implementation& implementation_;
  Results results_;
};

Entry entry_of(const Task& task, const Implementation& implementation) {
  Entry entry = {
      implementation.name(), implementation.properties(), outputs_of(task.pass), nullptr, {}};
  const bool backward = task.pass == Pass::backward;
  Support support = implementation.supports_forward(task.problem);
  if (support && backward) support = implementation.supports_backward(task.problem);
  if (!support) entry.why_not = support.reason();
  if (support) try {
      entry.contestant = std::make_unique<CpuContestant>(task, implementation);
    } catch (const std::runtime_error& error) {
      entry.why_not = std::string("does not run: ") + error.what();
      entry.failed = true;
    }
  return entry;
}

}  // namespace

std::vector<Entry> CpuTeam::enter(const Task& task, const Wanted& wanted) {
  std::vector<Entry> entries;
  for (const auto& implementation : all_)
    if (wanted(implementation->name())) entries.push_back(entry_of(task, *implementation));
  return entries;
}

Implementations cpu_contestants(Pass pass) {
  Implementations all = implementations();
  if (pass == Pass::forward) {
    for (auto& kernel : kernels_on(Machine::cpu)) all.push_back(std::move(kernel));
    return all;
  }
  std::set<const BackwardKernel*> known;
  for (const KernelPair& pair : emulated_pairs())
    if (known.insert(pair.backward).second)
      all.push_back(std::make_unique<KernelAttention>(
          KernelPair{pair.backward->name, pair.forward, pair.backward}, Machine::cpu,
          [] { return std::make_unique<EmulatedDevice>(uncounted()); }));
  return all;
}

bool is_emulated(const std::string& impl) {
  return impl.rfind("cuda.", 0) == 0 && impl.size() > 4 && impl.substr(impl.size() - 4) == "@cpu";
}

}  // namespace flashbook::bench
