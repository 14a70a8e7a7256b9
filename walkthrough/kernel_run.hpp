// One kernel on one problem: its errors, its time and, on the emulator, what each line did.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/api/machine.hpp"
#include "tests/conformance/large.hpp"
#include "tests/conformance/problem_spec.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/ring/timeline.hpp"

namespace flashbook {

/// A device object for one caller; the options are the emulator's.
std::unique_ptr<Device> make_device(Machine machine, const simt::Options& options);

/// How many calls, each with tensors of its own, to run by turns so that none finds its tensors in
/// the L2 cache of a GPU.
std::size_t calls_past_the_cache(const AttentionProblem& problem);

/// The kernels of a run. The forward one always runs, because the backward one reads its O and LSE.
struct Rungs {
  KernelPair pair;
  bool forward = false, backward = false;  ///< what was asked for: is timed, counted and judged
};

/// Finds a rung: "one_pass" or, where both ladders have one, "forward/standard" (which "standard"
/// means) and "backward/standard". `pass`: forward, backward, both, or empty for the rung's own. A
/// backward rung gets O and LSE from the last forward rung that takes the problem.
/// Throws InputError that lists the rungs, or says why there is no such run.
Rungs find_rungs(const std::string& kernel, const std::string& pass, Machine machine,
                 const AttentionProblem& problem);

struct KernelRunOptions {
  Machine machine = Machine::cpu;
  std::uint64_t seed = 1;    ///< of the data
  unsigned warp_orders = 1;  ///< on the emulator: seeds 0, 1, …
  bool once = false;         ///< on a GPU: one launch for a profiler, not timed
  bool watch = false;        ///< on the emulator: records the events of the first block
};

/// What one pass did.
struct PassRun {
  std::string pass, kernel;
  std::optional<double> seconds;   ///< a launch; the emulator's wall time
  simt::Report report;             ///< of the emulator; counts of the first order of warps
  std::string error;               ///< what stopped it; findings apart
  ring::TensorNames tensors = {};  ///< of a forward pass's inputs, as the events have them
};

struct KernelRun {
  std::vector<PassRun> passes;
  conformance::Judgement judgement;

  bool failed() const;
};

KernelRun run_kernel(const Rungs& rungs, const conformance::ProblemSpec& spec,
                     const KernelRunOptions& options);

}  // namespace flashbook
