#pragma once

#include <span>

#include "cuda/api/machine.hpp"
#include "walkthrough/bench/contestant.hpp"

namespace flashbook::bench {

struct InputSet;

/// Kernels on a device, each on several sets of tensors. Forward kernels are cuda.NAME, and so are
/// backward ones, with `@gpu` behind; a backward kernel reads the O and LSE of the last forward
/// kernel that takes the problem.
class KernelTeam : public Team {
 public:
  KernelTeam(Device& device, std::span<const KernelPair> pairs);
  ~KernelTeam() override;

  std::vector<Entry> enter(const Task& task, const Wanted& wanted) override;

 private:
  void load(const Task& task);
  void save_forward(const Task& task);

  Device& device_;
  std::span<const KernelPair> pairs_;
  std::vector<std::unique_ptr<InputSet>> sets_;
};

}  // namespace flashbook::bench
