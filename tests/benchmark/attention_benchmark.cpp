// Speed of attention on this CPU as a share of its GEMM rate: the rate of Eigen's product of two
// large square matrices, measured right before and after every timed pass, so that a busy machine
// slows both. N = 4096, d = 64, H = 8, fp32. Run with OMP_NUM_THREADS=2.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <iostream>

#include "cpu_reference/standard.hpp"
#include "sim/io/implementations.hpp"

namespace {

using namespace flashbook;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// FLOP/s of C = A B, 2048 x 2048.
double gemm_rate() {
  constexpr Index n = 2048;
  static const Eigen::MatrixXf A = Eigen::MatrixXf::Random(n, n), B = Eigen::MatrixXf::Random(n, n);
  static Eigen::MatrixXf C(n, n);
  const double seconds = seconds_of([] { C.noalias() = A * B; });
  return 2. * n * n * n / seconds;
}

struct Example {
  AttentionProblem problem;
  std::vector<float> q, k, v, o, lse, d_o, d_q, d_k, d_v;

  Example(Index n, Index d, Index heads) : problem(dense_problem(1, heads, heads, n, n, d, d)) {
    for (auto* tensor : {&q, &k, &v, &o, &d_o, &d_q, &d_k, &d_v}) {
      tensor->resize(static_cast<std::size_t>(n * d * heads));
      Eigen::Map<Eigen::VectorXf>(tensor->data(), n * d * heads).setRandom();
    }
    lse.resize(static_cast<std::size_t>(n * heads));
  }
  Inputs inputs() const { return {q.data(), k.data(), v.data(), nullptr, nullptr, nullptr}; }
  Outputs outputs() { return {o.data(), lse.data()}; }
  void forward(const Implementation& with) { with.forward(problem, inputs(), outputs()); }
  void backward(const Implementation& with) {
    with.backward(problem, inputs(), outputs(), {d_o.data(), nullptr},
                  {d_q.data(), d_k.data(), d_v.data(), nullptr, nullptr});
  }
};

enum class Pass { forward, backward };

/// `multiply_adds` N²d products a head: 2 forward (4N²d FLOPs), 7 in the three kernels backward.
void attention(benchmark::State& state, const Implementation& with, Pass pass,
               double multiply_adds) {
  const Index n = 4096, d = 64, heads = 8;
  static Example example(n, d, heads);
  example.forward(with);
  const double flops = multiply_adds * 2 * n * n * d * heads;
  double rate = 0, gemm = 0;
  for (auto _ : state) {
    const double before = gemm_rate();
    const double seconds =
        seconds_of([&] { pass == Pass::forward ? example.forward(with) : example.backward(with); });
    state.SetIterationTime(seconds);
    gemm = (before + gemm_rate()) / 2;
    rate = flops / seconds;
  }
  state.counters["GFLOP/s"] = rate * 1e-9;
  state.counters["GEMM GFLOP/s"] = gemm * 1e-9;
  state.counters["share of GEMM"] = rate / gemm;
}

/// N = 64k, where S alone would be 16 GiB: memory stays O(N·d).
void long_sequence(benchmark::State& state) {
  const Index n = 65536, d = 64;
  Example example(n, d, 1);
  const io::Blocked fa2("io.fa2");
  for (auto _ : state) {
    example.forward(fa2);
    example.backward(fa2);
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const double tensors = 4. * (8. * n * d + 2. * n);  // Q, K, V, O and gradients; LSE, delta
  state.counters["peak MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["tensors MiB"] = tensors / (1 << 20);
  state.counters["S MiB"] = 4. * n * n / (1 << 20);
}

const io::Blocked fa2("io.fa2");
const StandardAttention standard;

void register_pass(const char* name, const Implementation& with, Pass pass, double multiply_adds) {
  benchmark::RegisterBenchmark(name,
                               [&with, pass, multiply_adds](benchmark::State& state) {
                                 attention(state, with, pass, multiply_adds);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1)
      ->Repetitions(5)
      ->ReportAggregatesOnly();
}

}  // namespace

int main(int argc, char** argv) {
  // First: a process's peak memory never falls again.
  benchmark::RegisterBenchmark("long_sequence", long_sequence)
      ->Iterations(1)
      ->Unit(benchmark::kSecond)
      ->UseRealTime();
  register_pass("io.fa2 forward", fa2, Pass::forward, 2);
  register_pass("io.fa2 backward", fa2, Pass::backward, 7);
  register_pass("standard forward", standard, Pass::forward, 2);
  register_pass("standard backward", standard, Pass::backward, 5);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
