// The rungs of both ladders on the emulator, held to the suite. What the emulator finds fails a
// case.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "cuda/api/implementations.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/conformance/support.hpp"
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

using Attentions = std::vector<std::unique_ptr<Implementation>>;

/// Every rung of both ladders once: a backward rung reads O and LSE of the forward one before it,
/// and need not be judged behind each. Where the backward rung is left out, the name is no pair's,
/// so that the support table does not miss it.
const KernelPair each_rung_once[] = {
    {"standard", &emulated::standard_forward, &emulated::standard_backward},
    {"fa1.forward", &emulated::fa1_forward, nullptr},
    {"one_pass", &emulated::one_pass_forward, &emulated::three_kernel_backward},
    {"tensor_core.forward", &emulated::tensor_core_forward, nullptr},
    {"ping_pong.forward", &emulated::ping_pong_forward, nullptr},
    {"cluster_multicast.forward", &emulated::cluster_multicast_forward, nullptr},
};

/// The rungs between tensor_core and ping_pong, and those before cluster_multicast: their code is
/// in the last, too, or in cuda/rules. They are judged by fewer cases here; `verify --impl
/// cuda.NAME@cpu` has all.
const KernelPair between[] = {
    {"deferred_normalisation.forward", &emulated::deferred_normalisation_forward, nullptr},
    {"exp2.forward", &emulated::exp2_forward, nullptr},
    {"unmasked_tiles.forward", &emulated::unmasked_tiles_forward, nullptr},
    {"double_buffering.forward", &emulated::double_buffering_forward, nullptr},
    {"swizzle.forward", &emulated::swizzle_forward, nullptr},
    {"q_in_registers.forward", &emulated::q_in_registers_forward, nullptr},
    {"tile_shapes.forward", &emulated::tile_shapes_forward, nullptr},
    {"lazy_rescale.forward", &emulated::lazy_rescale_forward, nullptr},
    {"tma_wgmma.forward", &emulated::tma_wgmma_forward, nullptr},
    {"warp_specialised.forward", &emulated::warp_specialised_forward, nullptr},
    {"gemm_softmax_overlap.forward", &emulated::gemm_softmax_overlap_forward, nullptr},
    {"warpgroup_ping_pong.forward", &emulated::warpgroup_ping_pong_forward, nullptr},
    {"wgmma_q_in_registers.forward", &emulated::wgmma_q_in_registers_forward, nullptr},
    {"no_running_maximum.forward", &emulated::no_running_maximum_forward, nullptr},
    {"persistent_tiles.forward", &emulated::persistent_tiles_forward, nullptr},
};

/// Of 8 cases "sanitize/*" of a type rungs for Hopper refuse two, whose rows TMA cannot load.
constexpr std::size_t hopper_rungs = 8;

Attentions attentions_of(std::span<const KernelPair> pairs, unsigned seed) {
  Attentions all;
  for (const KernelPair& pair : pairs)
    all.push_back(std::make_unique<KernelAttention>(
        pair, Machine::cpu, [seed] { return std::make_unique<EmulatedDevice>(options_of(seed)); }));
  return all;
}

/// How many cases passed; the others were refused or skipped.
std::size_t verify_rungs(const Attentions& rungs, const std::vector<Case>& cases, unsigned seed) {
  std::size_t passed = 0;
  for (const CaseReport& report : verify_all(rungs, cases, 1)) {
    CAPTURE(report.command);
    std::string reasons;  // why it failed, behind why a pass was refused
    for (const std::string& reason : report.reasons) reasons += reason + "\n";
    CAPTURE(reasons);
    CAPTURE(seed);
    CHECK(report.status != Status::failed);
    passed += report.status == Status::passed;
  }
  return passed;
}

TEST_CASE("every rung is judged") {
  for (const KernelPair& pair : emulated_pairs()) {
    CAPTURE(std::string(pair.name));
    if (pair.forward == &emulated::fa2_forward) continue;  // fa2_test
    if (pair.forward == &emulated::fa3_forward) continue;  // fa3_test
    const auto is_judged = [&](auto member) {
      const auto is_it = [&](const KernelPair& rung) { return rung.*member == pair.*member; };
      return std::any_of(std::begin(each_rung_once), std::end(each_rung_once), is_it) ||
             std::any_of(std::begin(between), std::end(between), is_it);
    };
    CHECK(is_judged(&KernelPair::forward));
    CHECK(is_judged(&KernelPair::backward));
  }
}

TEST_CASE("the pairs refuse what the support table says") {
  for (const auto& pair : emulated_implementations({}))
    for (const Case& each : all_cases()) {
      const AttentionProblem& problem = each.spec.problem;
      CAPTURE(each.name);
      CHECK(should_refuse(pair->name(), problem, Pass::forward) ==
            !pair->supports_forward(problem));
      CHECK(should_refuse(pair->name(), problem, Pass::backward) ==
            !pair->supports_backward(problem));
    }
}

#ifdef FLASHBOOK_SANITIZED

TEST_CASE("rungs pass a smoke set") {
  const std::vector<Case> cases = matching_cases("sanitize/*/bf16");
  CHECK(verify_rungs(attentions_of(each_rung_once, 1), cases, 1) == 6 * cases.size() - 2);
  CHECK(verify_rungs(attentions_of(between, 1), cases, 1) ==
        15 * cases.size() - 2 * (hopper_rungs - 1));
}

#else

/// The cases that some rung takes.
std::vector<Case> taken(const std::vector<Case>& cases) {
  std::vector<Case> some;
  for (const Case& each : cases)
    if (emulated::one_pass_forward.refusal(each.spec.problem.fields()).empty())
      some.push_back(each);
  return some;
}

TEST_CASE("the pairs pass a smoke set") {
  const std::vector<Case> cases = matching_cases("sanitize/*");
  // All but three pairs refuse fp32, a third.
  CHECK(verify_rungs(attentions_of(emulated_pairs(), 0), cases, 0) ==
        3 * cases.size() + (emulated_pairs().size() - 3) * cases.size() * 2 / 3 -
            2 * 2 * (hopper_rungs + 1));  // and fa3
}

TEST_CASE("every rung passes the cases of the suite that it takes, gradients included") {
  const std::vector<Case> cases = taken(all_cases());
  CHECK(cases.size() > 600);
  const std::size_t passed = verify_rungs(attentions_of(each_rung_once, 0), cases, 0);
  MESSAGE(passed << " passed");
  // All but what one rung refuses (fp32) or cannot store (materialised).
  CHECK(passed > cases.size() * std::size(each_rung_once) * 3 / 4);
}

TEST_CASE("rungs in between pass what exercises masks, magnitudes, tails and strides") {
  std::vector<Case> cases;
  for (const char* name : {"align/*", "empty/*", "logits/*", "scale/*", "tail/*", "strides/*"})
    for (const Case& each : taken(matching_cases(name))) cases.push_back(each);
  const std::size_t passed = verify_rungs(attentions_of(between, 0), cases, 0);
  MESSAGE(passed << " passed");
  CHECK(passed > cases.size() * std::size(between) / 2);  // fp32 is a third
}

TEST_CASE("no order of warps changes that: 20 of them") {
  std::vector<Case> cases;
  for (const char* name :
       {"sanitize/tails/bf16", "sanitize/grouped/fp16", "sanitize/odd-channels/fp32"})
    for (const Case& each : matching_cases(name)) cases.push_back(each);
  for (unsigned seed = 1; seed <= 20; ++seed) {  // fp32 is refused by all that use tensor cores
    CHECK(verify_rungs(attentions_of(each_rung_once, seed), cases, seed) == 3 * 3 + 3 * 2);
    CHECK(verify_rungs(attentions_of(between, seed), cases, seed) == 15 * 2);
  }
}

#endif

}  // namespace
}  // namespace flashbook
