#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "sim/io/implementations.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace flashbook {
namespace {

using namespace conformance;

/// Blocks from one tile a problem down to a key or a row a tile: cases hold a few dozen tokens.
std::vector<std::unique_ptr<Implementation>> blocked() {
  std::vector<std::unique_ptr<Implementation>> all;
  all.push_back(std::make_unique<io::Standard>());
  for (const io::Blocks& blocks :
       {io::default_blocks, io::Blocks{16, 48}, io::Blocks{7, 5}, io::Blocks{32, 1}})
    all.push_back(std::make_unique<io::Fa2>(blocks));
  return all;
}

TEST_CASE("attention on counted memory passes every case of the suite, at any block shape") {
  const auto implementations = blocked();
  const std::vector<Case> cases = test::affordable_cases();
  std::size_t passed = 0;
  for (const CaseReport& report : verify_all(implementations, cases, 1)) {
    const std::string reason = report.reasons.empty() ? "" : report.reasons.front();
    CAPTURE(report.command);
    CAPTURE(reason);
    CHECK(report.status != Status::failed);
    if (report.status == Status::refused) CHECK(report.dtype == DType::fp64);
    if (report.status == Status::skipped) CHECK(report.implementation == "io.standard");
    passed += report.status == Status::passed;
  }
  CHECK(passed > cases.size() * implementations.size() / 2);
}

}  // namespace
}  // namespace flashbook
