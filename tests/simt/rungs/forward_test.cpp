#include <doctest/doctest.h>

#include <memory>

#include "tests/conformance/suite.hpp"
#include "tests/simt/rungs/emulated_forward.hpp"
#include "tests/unit/smoke_cases.hpp"

// The forward rungs on the emulator: every case of the suite, and no finding.

namespace flashbook {
namespace {

using namespace conformance;

std::vector<std::unique_ptr<Implementation>> rungs(unsigned seed) {
  Properties tiled;
  tiled.nan_spreads_within = TileShape{64, 64};
  simt::Options options;
  options.seed = seed;
  options.os_threads = 1;
  std::vector<std::unique_ptr<Implementation>> all;
  for (const ForwardKernel* kernel : {&emulated::one_pass_forward})
    all.push_back(std::make_unique<test::EmulatedForward>(*kernel, tiled, options));
  return all;
}

TEST_CASE("every forward rung passes every case of the suite that it takes") {
  std::size_t passed = 0;
  for (const CaseReport& report : verify_all(rungs(0), test::affordable_cases(), 1)) {
    const std::string reason = report.reasons.empty() ? "" : report.reasons.front();
    CAPTURE(report.implementation);
    CAPTURE(report.command);
    CAPTURE(reason);
    CHECK(report.status != Status::failed);
    passed += report.status == Status::passed;
  }
  MESSAGE(passed << " passed");
}

}  // namespace
}  // namespace flashbook
