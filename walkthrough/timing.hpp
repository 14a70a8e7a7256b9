// One kernel timed in the ways that people time kernels, right and wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "walkthrough/kernel_run.hpp"

namespace flashbook {

/// A way to time a kernel, and what it says.
struct TimedWay {
  std::string name;  ///< "without waiting"
  std::string why;   ///< what it measures, in a few words
  double seconds;
};

struct Timing {
  std::string on, kernel, problem;  ///< "NVIDIA H200", "tensor_core", "nq=4096 …"
  std::vector<TimedWay> ways;       ///< the last is the one to believe
  std::vector<std::string> faults;  ///< of the results: times of a wrong kernel say nothing
};

/// Times a forward rung, and judges what it wrote while it was timed.
/// Throws what a launch reports.
Timing time_in_many_ways(const ForwardKernel& kernel, const conformance::ProblemSpec& spec,
                         Machine machine, std::uint64_t seed);

}  // namespace flashbook
