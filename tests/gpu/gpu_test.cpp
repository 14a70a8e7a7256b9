// Both builds of every rung in one program. Where there is no GPU it says so, and has tested that.
#include <doctest/doctest.h>

#include "cpu_reference/error.hpp"
#include "cuda/api/implementations.hpp"
#include "tests/conformance/suite.hpp"

namespace flashbook {
namespace {

using namespace conformance;

TEST_CASE("without a GPU every call says so") {
  const Gpu gpu = find_gpu();
  if (gpu.missing.empty()) return;
  MESSAGE("no GPU: " << gpu.missing);
  CHECK(gpu.missing.find("--on cpu") != std::string::npos);
  CHECK_THROWS_AS(gpu_device(), InputError);
}

TEST_CASE("the machines have the same kernels") {
  if (gpu_pairs().empty()) {
    CHECK_FALSE(find_gpu().missing.empty());  // built without nvcc
    return;
  }
  REQUIRE(gpu_pairs().size() == emulated_pairs().size());
  for (std::size_t i = 0; i < gpu_pairs().size(); ++i) {
    const KernelPair &a = emulated_pairs()[i], &b = gpu_pairs()[i];
    CHECK(std::string(a.name) == b.name);
    CHECK((a.forward == nullptr) == (b.forward == nullptr));
    CHECK((a.backward == nullptr) == (b.backward == nullptr));
  }
}

TEST_CASE("on both machines every rung passes the same cases") {
  if (!find_gpu().missing.empty()) {
    MESSAGE("skipped: no GPU");
    return;
  }
  simt::Options options;
  options.count = false;
  const auto emulated = emulated_implementations(options), gpu = gpu_implementations();
  for (const Case& each : matching_cases("sanitize/*")) {
    Exercise exercise(each, 1);
    for (std::size_t i = 0; i < gpu.size(); ++i) {
      const CaseReport a = exercise.verify(*emulated[i]), b = exercise.verify(*gpu[i]);
      CAPTURE(b.command);
      const std::string reason = b.reasons.empty() ? "" : b.reasons.front();
      CAPTURE(reason);
      CHECK(a.status == b.status);
      CHECK(b.status != Status::failed);
      CHECK(a.outputs.size() == b.outputs.size());
    }
  }
}

}  // namespace
}  // namespace flashbook
