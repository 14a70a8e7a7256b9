#pragma once

#include "walkthrough/bench/contestant.hpp"
#include "walkthrough/implementations.hpp"

namespace flashbook::bench {

/// Implementations on the host, timed by the wall clock, one call at a time. Kernels on the
/// emulator are among them; their times are those of the emulation.
class CpuTeam : public Team {
 public:
  explicit CpuTeam(const Implementations& all) : all_(all) {}

  std::vector<Entry> enter(const Task& task, const Wanted& wanted) override;

 private:
  const Implementations& all_;
};

/// Who computes a pass on the host: everything in C++, and each kernel once on the emulator, under
/// its own name. A backward kernel comes with the first forward kernel that it is paired with.
Implementations cpu_contestants(Pass pass);

/// Whether the times of an implementation are those of an emulation.
bool is_emulated(const std::string& impl);

}  // namespace flashbook::bench
