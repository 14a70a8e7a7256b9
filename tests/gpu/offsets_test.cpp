// Elements that lie more than 2^31 apart, in GPU memory, through the C interface: two tokens of 8
// channels, all but the first of which are 0. Where there is no GPU it says so.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "cuda/api/flashbook.h"
#include "cuda/api/machine.hpp"

namespace flashbook {
namespace {

constexpr std::int64_t stride = (std::int64_t{1} << 31) + 8;
constexpr int channels = 8;

void require(cudaError_t error) {
  REQUIRE_MESSAGE(error == cudaSuccess, cudaGetErrorString(error));
}

/// Tensors of two tokens, `stride` elements apart: all first tokens lie beside each other, and all
/// second ones.
class FarTensors {
 public:
  explicit FarTensors(bool fp32) : fp32_(fp32) {
    const std::size_t elements = stride + (dLSE + 1) * channels;
    void* memory = nullptr;
    require(cudaMalloc(&memory, elements * size()));
    memory_ = static_cast<std::byte*>(memory);
    for (std::int64_t token : {std::int64_t{0}, stride})
      require(cudaMemset(at(token), 0, (dLSE + 1) * channels * size()));
  }
  ~FarTensors() { cudaFree(memory_); }
  FarTensors(const FarTensors&) = delete;
  FarTensors& operator=(const FarTensors&) = delete;

  enum Tensor { Q, K, V, O, dO, dQ, dK, dV, LSE, dLSE };

  std::byte* at(std::int64_t element) const {
    return memory_ + element * static_cast<std::int64_t>(size());
  }
  std::byte* operator[](Tensor tensor) const { return at(tensor * channels); }

  void set(Tensor tensor, float first, float second) const {
    put(tensor * channels, first);
    put(stride + tensor * channels, second);
  }
  std::array<double, 2> get(Tensor tensor) const {
    return {got(tensor * channels), got(stride + tensor * channels)};
  }
  std::array<float, 2> lse() const {
    std::array<float, 2> both{};
    require(cudaMemcpy(both.data(), (*this)[LSE], sizeof both, cudaMemcpyDeviceToHost));
    return both;
  }

 private:
  std::size_t size() const { return fp32_ ? 4 : 2; }
  /// As fp32, or bf16: its upper half, which holds small integers.
  void put(std::int64_t element, float value) const {
    const auto bits = std::bit_cast<std::uint32_t>(value) >> (fp32_ ? 0 : 16);
    require(cudaMemcpy(at(element), &bits, size(), cudaMemcpyHostToDevice));
  }
  double got(std::int64_t element) const {
    std::uint32_t bits = 0;
    require(cudaMemcpy(&bits, at(element), size(), cudaMemcpyDeviceToHost));
    return std::bit_cast<float>(fp32_ ? bits : bits << 16);
  }

  bool fp32_;
  std::byte* memory_ = nullptr;
};

flashbook_problem far_apart(bool fp32) {
  flashbook_problem problem = flashbook_dense_problem(1, 1, 1, 2, 2, channels, channels);
  problem.dtype = fp32 ? FLASHBOOK_FP32 : FLASHBOOK_BF16;
  problem.scale = 1;
  for (flashbook_strides* strides :
       {&problem.q, &problem.k, &problem.v, &problem.o, &problem.grad_o, &problem.grad_q,
        &problem.grad_k, &problem.grad_v})
    strides->token = stride;
  return problem;
}

struct Workspace {
  explicit Workspace(std::size_t bytes) { require(cudaMalloc(&data, bytes + 1)); }
  ~Workspace() { cudaFree(data); }
  void* data = nullptr;
};

void check_forward(const flashbook_implementation& kernel, const flashbook_problem& problem,
                   const FarTensors& t, double tolerance) {
  t.set(t.Q, 0, 1), t.set(t.K, 1, 3), t.set(t.V, 0, 2), t.set(t.O, -1, -1);
  flashbook_forward_tensors tensors = {};
  tensors.size = sizeof tensors;
  tensors.q = t[t.Q], tensors.k = t[t.K], tensors.v = t[t.V], tensors.o = t[t.O];
  tensors.lse = t[t.LSE];
  const Workspace workspace(kernel.forward_workspace_bytes(&kernel, &problem));
  std::array<char, FLASHBOOK_MESSAGE_SIZE> message{};
  const int status =
      kernel.forward(&kernel, &problem, &tensors, workspace.data, nullptr, message.data());
  REQUIRE_MESSAGE(status == FLASHBOOK_OK, message.data());
  require(cudaDeviceSynchronize());
  // Row 0 sees both keys equally; the scores of row 1 are 1 and 3.
  const auto [first, second] = t.get(t.O);
  CHECK(first == doctest::Approx(1).epsilon(tolerance));
  CHECK(second == doctest::Approx(2 / (1 + std::exp(-2))).epsilon(tolerance));
  CHECK(t.lse()[0] == doctest::Approx(std::log(2)).epsilon(1e-5));
  CHECK(t.lse()[1] == doctest::Approx(3 + std::log1p(std::exp(-2))).epsilon(1e-5));
}

void check_backward(const flashbook_implementation& kernel, const flashbook_problem& problem,
                    const FarTensors& t, double tolerance) {
  // Both rows see both keys equally; dO of row 0 is 0.
  t.set(t.Q, 0, 0), t.set(t.O, 1, 1), t.set(t.dO, 0, 1);
  for (const auto gradient : {t.dQ, t.dK, t.dV}) t.set(gradient, -1, -1);
  const std::array<float, 2> lse = {std::log(2.f), std::log(2.f)};
  require(cudaMemcpy(t[t.LSE], lse.data(), sizeof lse, cudaMemcpyHostToDevice));
  flashbook_backward_tensors tensors = {};
  tensors.size = sizeof tensors;
  tensors.q = t[t.Q], tensors.k = t[t.K], tensors.v = t[t.V], tensors.o = t[t.O];
  tensors.lse = t[t.LSE], tensors.grad_o = t[t.dO];
  tensors.grad_q = t[t.dQ], tensors.grad_k = t[t.dK], tensors.grad_v = t[t.dV];
  const Workspace workspace(kernel.backward_workspace_bytes(&kernel, &problem));
  std::array<char, FLASHBOOK_MESSAGE_SIZE> message{};
  const int status =
      kernel.backward(&kernel, &problem, &tensors, workspace.data, nullptr, message.data());
  REQUIRE_MESSAGE(status == FLASHBOOK_OK, message.data());
  require(cudaDeviceSynchronize());
  CHECK(t.get(t.dQ)[0] == 0);
  CHECK(t.get(t.dQ)[1] == doctest::Approx(1).epsilon(tolerance));  // dS = (-1/2, 1/2)
  for (const double dv : t.get(t.dV)) CHECK(dv == doctest::Approx(0.5).epsilon(tolerance));
  for (const double dk : t.get(t.dK)) CHECK(dk == 0);
}

}  // namespace

TEST_CASE("GPU kernels: elements more than 2^31 apart") {
  if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) {
    MESSAGE("skipped: " << gpu.missing);
    return;
  }
  for (const bool fp32 : {false, true}) {
    const FarTensors tensors(fp32);
    const flashbook_problem problem = far_apart(fp32);
    const double tolerance = fp32 ? 1e-5 : 0x1p-7;
    int judged = 0;
    for (std::size_t i = 0; i < flashbook_count(); ++i) {
      const flashbook_implementation& kernel = *flashbook_at(i);
      if (!std::string_view(kernel.name).ends_with("@gpu")) continue;
      CAPTURE(kernel.name);
      CAPTURE(fp32);
      if (kernel.supports_forward(&kernel, &problem, nullptr) != FLASHBOOK_OK) continue;
      check_forward(kernel, problem, tensors, tolerance);
      ++judged;
      if (kernel.supports_backward(&kernel, &problem, nullptr) == FLASHBOOK_OK)
        check_backward(kernel, problem, tensors, tolerance);
    }
    CHECK(judged > 0);
  }
}

}  // namespace flashbook
