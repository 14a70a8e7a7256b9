#pragma once

#include <string>
#include <vector>

#include "tests/conformance/suite.hpp"
#include "walkthrough/plugin/work.hpp"

namespace flashbook::plugin {

/// A place where a Python module raised: frames of a traceback, what it was first, and how often.
struct Raised {
  std::string frames, first;
  int times;
};

struct Verdict {
  std::string name;  ///< what the plug-in calls itself
  /// Of the cases judged, in their order: all, unless `stopped` says why not.
  std::vector<conformance::CaseReport> reports;
  std::string stopped;
  std::vector<Raised> raised;
};

/// The suite on a reader's implementation, which runs in processes of its own: as many as there are
/// processors, one if it needs the GPU. A crash, a call that takes longer than `timeout` seconds,
/// an end of the process fail the case that was being judged, and the others go on; after a few
/// time-outs it stops. Throws InputError that says why the plug-in cannot be loaded, and bad_alloc
/// for a case that is too large. The caller must have started no other threads.
Verdict verify_plugin(const Task& task, double timeout, const conformance::Progress& progress);

}  // namespace flashbook::plugin
