#pragma once

#include <functional>
#include <string>

#include "tests/simt/conformance/dump.hpp"

/// Probes in child processes. After an illegal instruction CUDA refuses everything else in that
/// process, and a probe may hang: neither should cost the other probes.
namespace flashbook::probes {

/// What a child tells its parent of the probes, in the order in which it runs them.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Whether this child is to run the probe: no child before it has begun it.
  virtual bool begin(const std::string& probe) = 0;
  virtual void end(const Result& result) = 0;
};

/// Calls run(reporter) in child processes until one has come to the end. A probe that throws,
/// crashes, or takes more than `seconds` ends its child, and is named in the dump's `failed`; the
/// next child begins behind it. Throws std::runtime_error if a child begins no probe and fails.
Dump dump_in_children(const std::function<void(Reporter&)>& run, unsigned seconds);

}  // namespace flashbook::probes
