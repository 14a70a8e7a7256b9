// The product kernel for Hopper GPUs on the emulator, held to all that the suite has in 16 bits.
// What the emulator finds fails a case.
#include "tests/simt/rungs/product_kernels.hpp"

namespace flashbook {
namespace {

using namespace conformance;

const KernelPair forward_alone = {"fa3.forward", &emulated::fa3_forward, nullptr};

std::size_t verify_fa3(const std::vector<Case>& cases, const simt::Options& options) {
  return verify_kernel(forward_alone, cases, options);
}

/// Those without bias and ALiBi whose rows TMA can load.
std::vector<Case> taken(const std::vector<Case>& cases) {
  std::vector<Case> some;
  for (const Case& each : cases)
    if (emulated::fa3_forward.refusal(each.spec.problem.fields()).empty()) some.push_back(each);
  return some;
}

#ifdef FLASHBOOK_SANITIZED

TEST_CASE("fa3 passes a smoke set") {
  const std::vector<Case> cases = taken(matching({"sanitize/tails/bf16", "dims/*/bf16"}));
  CHECK(verify_fa3(cases, plain_options()) == cases.size());
}

#else

TEST_CASE("fa3 passes every case of the suite in 16 bits that it takes") {
  const std::vector<Case> all = matching({"*/fp16", "*/bf16"}), cases = taken(all);
  CHECK(all.size() > 1200);
  CHECK(cases.size() > 1150);
  CHECK(verify_fa3(all, plain_options()) == cases.size());
}

TEST_CASE("no order of warps changes that: 20 of them") {
  const std::vector<Case> cases =
      matching({"sanitize/tails/bf16", "distant/huge-key/fp16", "dims/d64-window/fp16",
                "dims/d128-capped/bf16", "dims/d256-packed/bf16"});
  CHECK(cases.size() == 5);
  simt::Options options = plain_options();
  for (options.seed = 1; options.seed <= 20; ++options.seed)
    CHECK(verify_fa3(cases, options) == cases.size());
}

#endif

}  // namespace
}  // namespace flashbook
