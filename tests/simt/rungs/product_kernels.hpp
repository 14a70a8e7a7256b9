// Product kernels on the emulator, held to cases of the suite. What the emulator finds fails a
// case.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "cuda/api/implementations.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace flashbook {

/// Cases are many and run at once, each launch on one OS thread.
inline simt::Options plain_options() {
  simt::Options options;
  options.count = false;
  options.os_threads = 1;
  return options;
}

/// How many cases a forward kernel passed; the others it refused.
inline std::size_t verify_kernel(const KernelPair& forward_alone,
                                 const std::vector<conformance::Case>& cases,
                                 const simt::Options& options) {
  std::vector<std::unique_ptr<Implementation>> kernel;
  kernel.push_back(std::make_unique<KernelAttention>(forward_alone, Machine::cpu, [options] {
    return std::make_unique<EmulatedDevice>(options);
  }));
  std::size_t passed = 0;
  for (const conformance::CaseReport& report : conformance::verify_all(kernel, cases, 1)) {
    CAPTURE(report.command);
    std::string reasons;
    for (const std::string& reason : report.reasons) reasons += reason + "\n";
    CAPTURE(reasons);
    CAPTURE(options.seed);
    CHECK(report.status != conformance::Status::failed);
    passed += report.status == conformance::Status::passed;
  }
  return passed;
}

inline std::vector<conformance::Case> matching(std::initializer_list<const char*> patterns) {
  std::vector<conformance::Case> cases;
  for (const char* pattern : patterns)
    for (conformance::Case& each : conformance::matching_cases(pattern))
      cases.push_back(std::move(each));
  return cases;
}

}  // namespace flashbook
