#include <doctest/doctest.h>

#include <string>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/rules/refusal.hpp"

// What kernels for one architecture alone say elsewhere, in a sentence that tells what to do.

namespace flashbook {
namespace {

flashbook_problem small_problem() {
  flashbook_problem problem = dense_problem(2, 4, 2, 64, 64, 64, 64);
  problem.dtype = FLASHBOOK_BF16;
  return problem;
}

bool says(const std::string& refusal, const std::string& words) {
  return refusal.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a GPU for which a kernel has no code is named") {
  const flashbook_problem problem = small_problem();
  CHECK(hopper_rung_refusal(problem, 90) == "");
  CHECK(hopper_rung_refusal(problem, 0) == "");  // no GPU: the emulator
  for (const int capability : {61, 80, 87, 89, 100, 120}) {
    const std::string refusal = hopper_rung_refusal(problem, capability);
    CHECK(says(refusal, "the device is sm_" + std::to_string(capability) + ": "));
    CHECK(says(refusal, "needs sm_90a"));
    CHECK(says(refusal, "use another implementation"));
  }
}

TEST_CASE("strides that no tensor map holds are named, of a dimension that has a second place") {
  const auto refusal_of = [](auto change) {
    flashbook_problem problem = small_problem();
    change(problem);
    return hopper_rung_refusal(problem, 90);
  };
  CHECK(says(refusal_of([](auto& p) { p.q.token += 4; }), "strides of q are 16384, 260, 64"));
  CHECK(says(refusal_of([](auto& p) { p.k.head = -64; }), "strides of k are 8192, 128, -64"));
  CHECK(says(refusal_of([](auto& p) { p.v.batch = 0; }), "strides of v are 0, 128, 64"));
  CHECK(says(refusal_of([](auto& p) { p.v.batch = std::int64_t{1} << 39; }), "strides of v"));
  CHECK(refusal_of([](auto& p) { p.batch = 1, p.q.batch = 1; }) == "");
  CHECK(refusal_of([](auto& p) { p.v.batch = (std::int64_t{1} << 39) - 8; }) == "");
  // Without tokens the stride of the batch is 0, and nothing is copied.
  CHECK(refusal_of([](auto& p) { p.n_q = 0, p.q.batch = 0; }) == "");
  CHECK(refusal_of([](auto& p) { p.n_k = 0, p.k.batch = p.v.batch = 0; }) == "");
}

}  // namespace flashbook
