// `run` must fail on what is wrong: a wrong element, a finding, a launch that does not start.
#include "walkthrough/kernel_run.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/api/device_memory.hpp"
#include "cuda/isa/isa.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook {
namespace emulated {

/// All threads of a block write one word of shared memory, and nothing orders them.
struct Smem {
  Tile<int, 1, 32> x;
};
FLASHBOOK_KERNEL(64) racing(int) {
  shared_memory<Smem>().x(0, threadIdx.x % 32) = 1;
}

}  // namespace emulated

namespace {

LaunchStatus right(const flashbook_problem& problem, const ForwardTensors& tensors, void* workspace,
                   void* stream) {
  return emulated::one_pass_forward.launch(problem, tensors, workspace, stream);
}

using Launch = decltype(&right);

KernelRun run_with(Launch launch) {
  ForwardKernel kernel = emulated::one_pass_forward;
  kernel.launch = launch;
  const KernelPair pair = {"one_pass", &kernel, nullptr};
  return run_kernel({pair, true, false}, conformance::parse_problem("nq=20 d=16"), {});
}

TEST_CASE("a right kernel passes, and is counted") {
  const KernelRun run = run_with(right);
  CHECK_FALSE(run.failed());
  CHECK(run.passes[0].report.total().global_load.cost > 0);
}

TEST_CASE("one wrong element fails") {
  const KernelRun run = run_with([](const flashbook_problem& problem, const ForwardTensors& tensors,
                                    void* workspace, void* stream) {
    LaunchStatus status = right(problem, tensors, workspace, stream);
    static_cast<float*>(tensors.o)[7] += 1;
    return status;
  });
  CHECK(run.failed());
  REQUIRE_FALSE(run.judgement.faults.empty());
  CHECK(run.judgement.faults[0].find("O fails gate 1: element [0, 0, 0, 7]") == 0);
}

TEST_CASE("an element that is not written, and one beside the tensor, fail") {
  const KernelRun nothing = run_with(
      [](const flashbook_problem&, const ForwardTensors&, void*, void*) { return LaunchStatus{}; });
  CHECK(nothing.failed());
  const KernelRun beside =
      run_with([](const flashbook_problem& problem, const ForwardTensors& tensors, void* workspace,
                  void* stream) {
        LaunchStatus status = right(problem, tensors, workspace, stream);
        tensors.lse[-1] = 0;
        return status;
      });
  CHECK(beside.failed());
  CHECK(beside.passes[0].error ==
        "memory was written to before LSE, at element -1 (it has 0 to 19)");
}

TEST_CASE("a finding fails, though every result is right") {
  const KernelRun run = run_with([](const flashbook_problem& problem, const ForwardTensors& tensors,
                                    void* workspace, void* stream) {
    emulated::launch({"racing", {1}, {64}, sizeof(emulated::Smem)}, stream, emulated::racing, 0);
    return right(problem, tensors, workspace, stream);
  });
  CHECK(run.judgement.faults.empty());
  CHECK(run.failed());
  REQUIRE(run.passes[0].report.findings.size() == 1);
  CHECK(run.passes[0].report.findings[0].category == simt::Category::race);
}

TEST_CASE("a launch that does not start is said") {
  const KernelRun run = run_with([](const flashbook_problem&, const ForwardTensors&, void*, void*) {
    return LaunchStatus{"kernel x: too large"};
  });
  CHECK(run.failed());
  CHECK(run.passes[0].error == "kernel x: too large");
}

TEST_CASE("memory is given back though filling it throws") {
  struct Failing : EmulatedDevice {
    Failing() : EmulatedDevice(simt::Options{}) {}
    void release(void* memory) noexcept override {
      ++released;
      EmulatedDevice::release(memory);
    }
    void fill(void*, std::byte, std::size_t) override { throw std::runtime_error("lost"); }
    int released = 0;
  } device;
  CHECK_THROWS_WITH(DeviceMemory(device, "X", 16), "lost");
  CHECK(device.released == 1);
}

TEST_CASE("a refusal names the field, its value and what is accepted") {
  const auto refusal_of = [](const char* words) {
    return emulated::one_pass_forward.refusal(conformance::parse_problem(words).problem.fields());
  };
  const std::pair<const char*, const char*> refusals[] = {
      {"d=257", "d is 257: "},
      {"dv=300", "d_v is 300: "},
      {"cu_q=0,3,5 cu_k=0,2,4 nq=5 nk=4", "cu_seqlens are of 2 members: "},
      {"window=4,inf", "window is 4, inf: "},
      {"softcap=30", "softcap is 30: "},
      {"bias=1,h,q,k hq=2 nq=3 nk=5", "bias is of shape [1, 2, 3, 5]: "},
      {"alibi=h", "alibi is of shape [H_q]: "},
      {"alibi=bh", "alibi is of shape [B, H_q]: "},
      {"sinks hq=3", "sinks are 3 logits: "}};
  for (const auto& [words, start] : refusals) {
    const std::string refusal = refusal_of(words);
    CAPTURE(refusal);
    CHECK(refusal.find(start) == 0);
    CHECK(refusal.find("; ") != std::string::npos);
  }
}

TEST_CASE("a kernel whose tiles do not fit the device is refused before it is launched") {
  const flashbook_problem problem = dense_problem(1, 1, 1, 8, 8, 192, 64);
  CHECK(shared_memory_refusal(problem, 105088, 232448).empty());
  const std::string refusal = shared_memory_refusal(problem, 105088, 101376);
  CHECK(refusal.find("d is 192: ") == 0);
  CHECK(refusal.find("105088 bytes") != std::string::npos);
  CHECK(refusal.find("101376") != std::string::npos);
  CHECK(emulated::three_kernel_backward.refusal(problem).empty());
}

TEST_CASE("copied back is what changed on the device, and nothing else") {
  float host[] = {0, 1, 2, 3, 4, 5, 6, 7};
  EmulatedDevice device({});
  // Elements 1, 3 and 5, backwards: [1, 3, 1, 1] with a token stride of -2, from element 5.
  const Span span = span_of({8, -2, 1}, 1, 3, 1, 1);
  CHECK(span.first == -4);
  CHECK(span.size == 5);
  const DeviceTensor tensor(device, "X", host + 5, span, sizeof(float));
  auto* x = static_cast<float*>(tensor.data());
  CHECK(x[0] == 5);
  CHECK(x[-4] == 1);
  x[-2] = 30;
  host[2] = 20;  // another tensor's, between ours: written since
  tensor.copy_back(host + 5);
  CHECK(std::vector<float>(host, host + 8) == std::vector<float>{0, 1, 20, 30, 4, 5, 6, 7});
  x[1] = 0;
  CHECK_THROWS_WITH(tensor.copy_back(host + 5),
                    "memory was written to behind X, at element 1 (it has -4 to 0)");
}

}  // namespace
}  // namespace flashbook
