// The product kernel on the emulator, held to all that the suite has in 16 bits. What the emulator
// finds fails a case.
#include <algorithm>

#include "cuda/isa/types.cuh"
#include "tests/simt/rungs/product_kernels.hpp"

namespace flashbook {
namespace {

using namespace conformance;

const KernelPair forward_alone = {"fa2.forward", &emulated::fa2_forward, nullptr};

std::size_t verify_fa2(const std::vector<Case>& cases, const simt::Options& options) {
  return verify_kernel(forward_alone, cases, options);
}

#ifdef FLASHBOOK_SANITIZED

TEST_CASE("fa2 passes a smoke set") {
  const std::vector<Case> cases = matching({"sanitize/*/bf16", "dims/*/bf16"});
  CHECK(verify_fa2(cases, plain_options()) == cases.size());
}

#else

TEST_CASE("fa2 takes every case of the suite in 16 bits, and passes it") {
  std::vector<Case> cases = matching({"*/fp16", "*/bf16"});
  CHECK(cases.size() > 1200);
  CHECK(verify_fa2(cases, plain_options()) == cases.size());
}

/// Without keys a row's LSE is its head's sink, so that a head in another's place shows.
TEST_CASE("fa2 takes more than 65,535 heads") {
  using emulated::bfloat16;
  constexpr std::size_t heads = 65'600, d = 8;
  flashbook_problem problem = dense_problem(1, heads, heads, 1, 0, d, d);
  problem.dtype = FLASHBOOK_BF16;
  problem.has_sinks = 1;
  const std::vector<bfloat16> Q(heads * d, bfloat16{0});
  std::vector<bfloat16> sinks(heads), O(heads * d, bfloat16{0x7fff});
  for (std::size_t h = 0; h < heads; ++h)
    sinks[h] = emulated::from_float<bfloat16>(static_cast<float>(h % 251));
  std::vector<float> lse(heads, -1);
  simt::Stream stream;
  stream.options.count = false;
  ForwardTensors tensors = {Q.data(), nullptr, nullptr, O.data(), lse.data()};
  tensors.sinks = sinks.data();
  CHECK(emulated::fa2_forward.launch(problem, tensors, nullptr, &stream).error == "");
  CHECK(std::all_of(O.begin(), O.end(), [](bfloat16 o) { return o.bits == 0; }));
  CHECK(std::equal(lse.begin(), lse.end(), sinks.begin(),
                   [](float x, bfloat16 z) { return x == emulated::to_float(z); }));
}

TEST_CASE("no order of warps changes that: 20 of them") {
  const std::vector<Case> cases =
      matching({"sanitize/tails/bf16", "sanitize/odd-channels/fp16", "dims/d64-window/fp16",
                "dims/d128-options/bf16", "dims/d256-packed/bf16"});
  CHECK(cases.size() == 5);
  simt::Options options = plain_options();
  for (options.seed = 1; options.seed <= 20; ++options.seed)
    CHECK(verify_fa2(cases, options) == cases.size());
}

#endif

TEST_CASE("a device with 99 KiB of shared memory a block runs every head dimension") {
  const std::vector<Case> cases = matching({"dims/*/bf16"});
  simt::Options options = plain_options();
  options.shared_bytes = std::size_t{99} << 10;
  CHECK(verify_fa2(cases, options) == cases.size());
}

}  // namespace
}  // namespace flashbook
