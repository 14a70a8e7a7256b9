#pragma once

#include <functional>

#include "sim/simt/options.hpp"
#include "sim/simt/report.hpp"

namespace flashbook::simt {

/// Runs a kernel: `thread` is called once for every thread of the grid. Blocks are spread over OS
/// threads; which runs where changes no result, unless blocks race.
/// A shape that no GPU accepts is reported as `invalid`, and nothing runs. After a deadlock, a
/// divergent collective or an invalid operand the launch ends early; everything else that is found
/// lets the kernel run on. What `thread` throws ends the launch, too, and is thrown here.
Report launch(const LaunchShape& shape, const Options& options,
              const std::function<void()>& thread);

/// What a launcher's stream is on this machine: how its kernels run, and what they showed so far.
struct Stream {
  Options options;
  Report report;
};

/// run(options) for the seeds 0 to `seeds` - 1: as many orders of warps. Returns all reports as
/// one.
template <class Run>
Report over_seeds(unsigned seeds, Options options, Run&& run) {
  Report all;
  for (options.seed = 0; options.seed < seeds; ++options.seed) all.add(run(options));
  return all;
}

}  // namespace flashbook::simt
