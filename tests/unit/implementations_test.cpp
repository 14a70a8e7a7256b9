#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "sim/io/implementations.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/smoke_cases.hpp"
#include "walkthrough/implementations.hpp"

namespace flashbook {
namespace {

using namespace conformance;

/// Every implementation that `flashbook list` shows, and those in blocks at more shapes: from one
/// tile a problem down to a key a tile, for cases hold a few dozen tokens.
Implementations tested() {
  Implementations all = implementations();
  for (const io::BlockedPair& pair : io::blocked_pairs()) {
    const bool splits = io::find_algorithm(pair.forward).takes.splits;
    for (const io::Schedule& schedule : {io::Schedule{{7, 5}, 2}, io::Schedule{{32, 1}, 4}})
      all.push_back(std::make_unique<io::Blocked>(
          pair.name, io::Schedule{schedule.blocks, splits ? schedule.splits : 1}));
  }
  return all;
}

TEST_CASE("every implementation passes every case of the suite") {
  const Implementations implementations = tested();
  const std::vector<Case> cases = test::affordable_cases();
  std::size_t passed = 0, skipped = 0;
  for (const CaseReport& report : verify_all(implementations, cases, 1)) {
    const std::string reason = report.reasons.empty() ? "" : report.reasons.front();
    CAPTURE(report.command);
    CAPTURE(reason);
    CHECK(report.status != Status::failed);
    if (report.status == Status::refused) CHECK(report.dtype == DType::fp64);
    skipped += report.status == Status::skipped;
    passed += report.status == Status::passed;
  }
  CHECK(skipped < 10 * implementations.size());
  CHECK(passed > cases.size() * implementations.size() / 2);
}

}  // namespace
}  // namespace flashbook
