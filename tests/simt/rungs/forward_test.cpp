#include <doctest/doctest.h>

#include <cstdlib>

#include "cuda/api/implementations.hpp"
#include "tests/conformance/suite.hpp"

namespace flashbook {
namespace {

using namespace conformance;

TEST_CASE("every forward rung passes every case of the suite that it takes") {
  simt::Options options;
  options.count = false;
  options.os_threads = 1;
  const char* glob = std::getenv("GLOB");
  options.seed = std::getenv("SEED") ? std::atoi(std::getenv("SEED")) : 0;
  std::size_t passed = 0;
  for (const CaseReport& report :
       verify_all(emulated_implementations(options), matching_cases(glob ? glob : "*"), 1)) {
    std::string reasons;
    for (auto& r : report.reasons) reasons += r + "\n";
    CAPTURE(report.implementation);
    CAPTURE(report.command);
    CAPTURE(reasons);
    CHECK(report.status != Status::failed);
    passed += report.status == Status::passed;
  }
  MESSAGE(passed << " passed");
}

}  // namespace
}  // namespace flashbook
