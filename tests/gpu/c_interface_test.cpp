// The C interface on a GPU: any stream, graph capture, the device of the tensors and not the
// current one. Where there is no GPU it says so.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/api/flashbook.h"
#include "cuda/api/machine.hpp"

namespace flashbook {
namespace {

using Message = std::array<char, FLASHBOOK_MESSAGE_SIZE>;

#define CHECK_CUDA(call)                                              \
  do {                                                                \
    const cudaError_t error = call;                                   \
    REQUIRE_MESSAGE(error == cudaSuccess, cudaGetErrorString(error)); \
  } while (false)

bool no_gpu() {
  const Gpu gpu = find_gpu();
  if (!gpu.missing.empty()) MESSAGE("skipped: " << gpu.missing);
  return !gpu.missing.empty();
}

/// A forward problem whose tensors lie on one GPU.
class OnGpu {
 public:
  OnGpu(int device, double scale) : problem_(flashbook_dense_problem(1, 2, 2, 33, 40, 32, 32)) {
    problem_.scale = scale;
    int before = 0;
    CHECK_CUDA(cudaGetDevice(&before));
    CHECK_CUDA(cudaSetDevice(device));
    void* memory = nullptr;
    CHECK_CUDA(cudaMalloc(&memory, (3 * size + written) * sizeof(float)));
    memory_ = static_cast<float*>(memory);
    std::vector<float> host(3 * size);
    for (std::size_t i = 0; i < host.size(); ++i)
      host[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    CHECK_CUDA(
        cudaMemcpy(memory_, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    forget();
    CHECK_CUDA(cudaSetDevice(before));
  }
  ~OnGpu() { cudaFree(memory_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  /// O and LSE become NaN.
  void forget() { CHECK_CUDA(cudaMemset(o(), 0xff, written * sizeof(float))); }

  int launch(void* stream, Message& message) const {
    const flashbook_implementation* const kernel = flashbook_find("cuda.one_pass@gpu");
    REQUIRE(kernel);
    REQUIRE(kernel->forward_workspace_bytes(kernel, &problem_) == 0);
    flashbook_forward_tensors t = tensors();
    return kernel->forward(kernel, &problem_, &t, nullptr, stream, message.data());
  }
  flashbook_forward_tensors tensors() const {
    flashbook_forward_tensors t = {};
    t.size = sizeof t;
    t.q = memory_, t.k = memory_ + size, t.v = memory_ + 2 * size;
    t.o = o(), t.lse = o() + o_size;
    return t;
  }
  std::vector<float> results() const {
    std::vector<float> host(written);
    CHECK_CUDA(cudaMemcpy(host.data(), o(), host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }
  const flashbook_problem& problem() const { return problem_; }

 private:
  static constexpr std::size_t size = 40 * 2 * 32, o_size = 33 * 2 * 32;
  static constexpr std::size_t written = o_size + 2 * 33;  // O and the LSE

  float* o() const { return memory_ + 3 * size; }

  flashbook_problem problem_;
  float* memory_ = nullptr;
};

bool has_nan(const std::vector<float>& numbers) {
  for (const float x : numbers)
    if (std::isnan(x)) return true;
  return false;
}

TEST_CASE("C interface: two streams with two scales, and a captured graph") {
  if (no_gpu()) return;
  OnGpu one(0, 0.25), other(0, -2);
  Message message{};
  CHECK_MESSAGE(one.launch(nullptr, message) == FLASHBOOK_OK, message.data());
  CHECK_MESSAGE(other.launch(nullptr, message) == FLASHBOOK_OK, message.data());
  CHECK_CUDA(cudaDeviceSynchronize());
  const std::vector<float> of_one = one.results(), of_other = other.results();
  CHECK(!has_nan(of_one));  // which would differ from itself
  CHECK(!has_nan(of_other));
  CHECK(of_one != of_other);

  std::array<cudaStream_t, 2> streams{};
  for (cudaStream_t& stream : streams)
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  one.forget(), other.forget();
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(one.launch(streams[0], message) == FLASHBOOK_OK);
  CHECK(other.launch(streams[1], message) == FLASHBOOK_OK);
  for (cudaStream_t stream : streams) CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(one.results() == of_one);
  CHECK(other.results() == of_other);

  one.forget();
  CHECK_CUDA(cudaDeviceSynchronize());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  CHECK_CUDA(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  CHECK_MESSAGE(one.launch(streams[0], message) == FLASHBOOK_OK, message.data());
  CHECK_CUDA(cudaStreamEndCapture(streams[0], &graph));
  CHECK_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(one.results() != of_one);  // captured, and not run
  CHECK_CUDA(cudaGraphLaunch(ready, streams[0]));
  CHECK_CUDA(cudaStreamSynchronize(streams[0]));
  CHECK(one.results() == of_one);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
}

TEST_CASE("C interface: tensors that are not in GPU memory are refused by name") {
  if (no_gpu()) return;
  const OnGpu there(0, 1);
  std::vector<float> here(3000);
  flashbook_forward_tensors t = there.tensors();
  t.k = here.data();
  const flashbook_implementation* const kernel = flashbook_find("cuda.one_pass@gpu");
  Message message{};
  CHECK(kernel->forward(kernel, &there.problem(), &t, nullptr, nullptr, message.data()) ==
        FLASHBOOK_INVALID);
  CHECK(std::string(message.data()).rfind("k is not in GPU memory", 0) == 0);
}

TEST_CASE("C interface: the device is the tensors', and the current one stays what it was") {
  if (no_gpu()) return;
  int devices = 0;
  CHECK_CUDA(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    MESSAGE("skipped: one GPU");
    return;
  }
  CHECK_CUDA(cudaSetDevice(0));
  const OnGpu here(0, 0.25), there(1, 0.25);
  Message message{};
  CHECK_MESSAGE(here.launch(nullptr, message) == FLASHBOOK_OK, message.data());
  CHECK_MESSAGE(there.launch(nullptr, message) == FLASHBOOK_OK, message.data());
  int current = -1;
  CHECK_CUDA(cudaGetDevice(&current));
  CHECK(current == 0);
  for (const int device : {1, 0}) {
    CHECK_CUDA(cudaSetDevice(device));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  CHECK_FALSE(has_nan(there.results()));
  CHECK(there.results() == here.results());
  flashbook_forward_tensors mixed = here.tensors();
  mixed.v = there.tensors().v;
  const flashbook_implementation* const kernel = flashbook_find("cuda.one_pass@gpu");
  CHECK(kernel->forward(kernel, &here.problem(), &mixed, nullptr, nullptr, message.data()) ==
        FLASHBOOK_INVALID);
  CHECK(std::string(message.data()).rfind("v lies on GPU 1", 0) == 0);
}

}  // namespace
}  // namespace flashbook
