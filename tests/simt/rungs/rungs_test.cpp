// The rungs of both ladders on the emulator, held to the suite. What the emulator finds fails a
// case.
#include <doctest/doctest.h>

#include <algorithm>

#include "cuda/api/implementations.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace flashbook {
namespace {

using namespace conformance;

/// Cases are many and run at once, each launch on one OS thread.
simt::Options options_of(unsigned seed) {
  simt::Options options;
  options.count = false;
  options.os_threads = 1;
  options.seed = seed;
  return options;
}

/// The cases that some rung takes.
std::vector<Case> taken(const std::vector<Case>& cases) {
  const auto rungs = emulated_implementations({});
  std::vector<Case> some;
  for (const Case& each : cases)
    if (std::any_of(rungs.begin(), rungs.end(), [&](const auto& rung) {
          return bool(rung->supports_forward(each.spec.problem));
        }))
      some.push_back(each);
  return some;
}

/// How many cases passed; the others were refused or skipped.
std::size_t verify_rungs(const std::vector<Case>& cases, unsigned seed) {
  std::size_t passed = 0;
  for (const CaseReport& report :
       verify_all(emulated_implementations(options_of(seed)), cases, 1)) {
    const std::string reason = report.reasons.empty() ? "" : report.reasons.front();
    CAPTURE(report.command);
    CAPTURE(reason);
    CAPTURE(seed);
    CHECK(report.status != Status::failed);
    passed += report.status == Status::passed;
  }
  return passed;
}

#ifdef FLASHBOOK_SANITIZED

TEST_CASE("rungs pass a smoke set") {
  CHECK(verify_rungs(matching_cases("sanitize/*/bf16"), 1) >= emulated_pairs().size());
}

#else

TEST_CASE("every rung passes the cases of the suite that it takes, gradients included") {
  const std::vector<Case> cases = taken(all_cases());
  CHECK(cases.size() > 300);
  const std::size_t passed = verify_rungs(cases, 0);
  MESSAGE(passed << " passed");
  // All but what one rung refuses (fp32) or cannot store (materialised).
  CHECK(passed > cases.size() * emulated_pairs().size() * 3 / 4);
}

TEST_CASE("no order of warps changes that: 20 of them") {
  std::vector<Case> cases;
  for (const char* name :
       {"sanitize/tails/bf16", "sanitize/grouped/fp16", "sanitize/odd-channels/fp32"})
    for (const Case& each : matching_cases(name)) cases.push_back(each);
  for (unsigned seed = 1; seed <= 20; ++seed) verify_rungs(cases, seed);
}

#endif

}  // namespace
}  // namespace flashbook
