// How fast the emulator runs kernels, on one OS thread: plain, counting, checking, both. Rates are
// of one run; `calibration` is a loop of multiply-adds that tells how fast the machine was
// meanwhile.
#include <benchmark/benchmark.h>

#include "tests/simt/kernel_runs.hpp"

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

constexpr int N = 512;

simt::Stream stream_of(const benchmark::State& state) {
  simt::Stream stream;
  stream.options.count = state.range(0) != 0;
  stream.options.check = state.range(1) != 0;
  stream.options.os_threads = 1;
  return stream;
}

void mma_kernel(benchmark::State& state) {
  Numbers<half> Q(N * 64, 1), K(N * 64, 2), V(N * 64, 3), O(N * 64);
  Numbers<float> lse(N);
  simt::Stream stream = stream_of(state);
  const mma_forward::Parameters<half> p = {
      Q.constant(), K.constant(), V.constant(), O.view(), lse.view(), N, N, 0.125f};
  for (auto _ : state) {
    const LaunchStatus status =
        launch({"mma_forward", {N / 64}, {128}, sizeof(mma_forward::Smem<half>)}, &stream,
               mma_forward::forward<half>, p);
    if (!status.ok()) state.SkipWithError(status.error.c_str());
  }
}

void fma_kernel(benchmark::State& state) {
  Numbers<float> Q(N * 32, 1), K(N * 32, 2), V(N * 32, 3), O(N * 32), lse(N);
  simt::Stream stream = stream_of(state);
  const fma_forward::Parameters p = {
      Q.constant(), K.constant(), V.constant(), O.view(), lse.view(), N, N, 0.25f};
  for (auto _ : state) {
    const LaunchStatus status = launch({"fma_forward", {N / 64}, {64}, sizeof(fma_forward::Smem)},
                                       &stream, fma_forward::forward, p);
    if (!status.ok()) state.SkipWithError(status.error.c_str());
  }
}

void calibration(benchmark::State& state) {
  float x = 1;
  for (auto _ : state)
    for (int i = 0; i < 1 << 20; ++i) benchmark::DoNotOptimize(x = x * 0.999f + 0.001f);
}

void modes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"count", "check"})->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond);
}

BENCHMARK(calibration)->Unit(benchmark::kMillisecond);
BENCHMARK(mma_kernel)->Apply(modes);
BENCHMARK(fma_kernel)->Apply(modes);

}  // namespace

BENCHMARK_MAIN();
