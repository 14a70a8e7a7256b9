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

TEST_CASE("blocks of your own leave an implementation its number of splits, unless told") {
  CHECK(find_implementation("io.split_kv[16x48]")->name() == "io.split_kv[16x48/3]");
  CHECK(find_implementation("io.split_kv[16x48/1]")->name() == "io.split_kv[16x48/1]");
  CHECK(find_implementation("io.fa2[16x48]")->name() == "io.fa2[16x48]");
}

TEST_CASE("of the blocked backward passes, those that add dQ atomically promise no order of it") {
  CHECK_FALSE(find_implementation("io.fused")->properties().deterministic_dq);
  for (const char* name : {"io.fused_in_order", "io.fa1", "io.fa2", "io.fa2_literal"})
    CHECK(find_implementation(name)->properties().deterministic_dq);
}

}  // namespace
}  // namespace flashbook
