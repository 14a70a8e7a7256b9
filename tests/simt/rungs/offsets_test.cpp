#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cmath>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/backward/kernels.hpp"
#include "cuda/forward/kernels.hpp"
#include "cuda/isa/types.cuh"
#include "sim/simt/launch.hpp"

// Elements that lie more than 2^32 apart: two tokens of 8 channels, all but the first of which are
// 0.

namespace flashbook {
namespace {

constexpr std::int64_t stride = (std::int64_t{1} << 32) + 8;
constexpr int channels = 8;

/// Two tokens `stride` apart, and zeros between, of which the system provides what is touched.
template <class T>
class Pair {
 public:
  Pair(float first, float second) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(data_ != MAP_FAILED);
    data()[0] = emulated::from_float<T>(first);
    data()[stride] = emulated::from_float<T>(second);
  }
  ~Pair() { munmap(data_, bytes); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  T* data() { return static_cast<T*>(data_); }
  double first() { return emulated::to_float(data()[0]); }
  double second() { return emulated::to_float(data()[stride]); }

 private:
  static constexpr std::size_t bytes = (stride + channels) * sizeof(T);
  void* data_;
};

flashbook_problem far_apart(std::int32_t dtype) {
  flashbook_problem problem = dense_problem(1, 1, 1, 2, 2, channels, channels);
  problem.dtype = dtype;
  problem.scale = 1;
  for (flashbook_strides* strides :
       {&problem.q, &problem.k, &problem.v, &problem.o, &problem.grad_o, &problem.grad_q,
        &problem.grad_k, &problem.grad_v})
    strides->token = stride;
  return problem;
}

template <class T>
void check_forward(const ForwardKernel& rung, std::int32_t dtype, double tolerance) {
  CAPTURE(rung.name);
  const flashbook_problem problem = far_apart(dtype);
  Pair<T> Q(0, 1), K(1, 3), V(0, 2), O(-1, -1);
  std::vector<float> lse(2), workspace(rung.workspace_bytes(problem) / sizeof(float) + 1);
  simt::Stream stream;
  const LaunchStatus status = rung.launch(
      problem, {Q.data(), K.data(), V.data(), O.data(), lse.data()}, workspace.data(), &stream);
  CHECK(status.error == "");
  // Row 0 sees both keys equally; the scores of row 1 are 1 and 3.
  CHECK(O.first() == doctest::Approx(1).epsilon(tolerance));
  CHECK(O.second() == doctest::Approx(2 / (1 + std::exp(-2))).epsilon(tolerance));
  CHECK(lse[0] == doctest::Approx(std::log(2)).epsilon(1e-5));
  CHECK(lse[1] == doctest::Approx(3 + std::log1p(std::exp(-2))).epsilon(1e-5));
}

}  // namespace

TEST_CASE("forward rungs: elements more than 2^32 apart") {
  using namespace emulated;
  for (const ForwardKernel* rung : {&standard_forward, &fa1_forward, &one_pass_forward})
    check_forward<float>(*rung, FLASHBOOK_FP32, 1e-5);
  for (const ForwardKernel* rung : {&tensor_core_forward,
                                    &deferred_normalisation_forward,
                                    &exp2_forward,
                                    &unmasked_tiles_forward,
                                    &double_buffering_forward,
                                    &swizzle_forward,
                                    &q_in_registers_forward,
                                    &tile_shapes_forward,
                                    &lazy_rescale_forward,
                                    &ping_pong_forward,
                                    &fa2_forward,
                                    &tma_wgmma_forward,
                                    &warp_specialised_forward,
                                    &gemm_softmax_overlap_forward,
                                    &warpgroup_ping_pong_forward,
                                    &wgmma_q_in_registers_forward,
                                    &no_running_maximum_forward,
                                    &persistent_tiles_forward,
                                    &cluster_multicast_forward,
                                    &fa3_forward})
    check_forward<emulated::half>(*rung, FLASHBOOK_FP16, 1e-3);
}

TEST_CASE("backward rungs: elements more than 2^32 apart") {
  const flashbook_problem problem = far_apart(FLASHBOOK_FP32);
  // Both rows see both keys equally; dO of row 0 is 0.
  Pair<float> Q(0, 0), K(1, 3), V(0, 2), O(1, 1), dO(0, 1);
  const float ln_2 = std::log(2.f);
  const std::vector<float> lse = {ln_2, ln_2};
  for (const BackwardKernel* rung :
       {&emulated::standard_backward, &emulated::three_kernel_backward}) {
    CAPTURE(rung->name);
    Pair<float> dQ(-1, -1), dK(-1, -1), dV(-1, -1);
    std::vector<float> workspace(rung->workspace_bytes(problem) / sizeof(float) + 1);
    simt::Stream stream;
    const LaunchStatus status = rung->launch(problem,
                                             {Q.data(), K.data(), V.data(), O.data(), lse.data(),
                                              dO.data(), nullptr, dQ.data(), dK.data(), dV.data()},
                                             workspace.data(), &stream);
    CHECK(status.error == "");
    CHECK(dQ.first() == 0);
    CHECK(dQ.second() == doctest::Approx(1));  // dS = (-1/2, 1/2)
    CHECK(dV.first() == doctest::Approx(0.5));
    CHECK(dV.second() == doctest::Approx(0.5));
    CHECK(dK.first() == 0);
    CHECK(dK.second() == 0);
  }
}

}  // namespace flashbook
