// What `bench` does with times and results, on devices that are made up.
#include "walkthrough/bench/bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cpu_reference/error.hpp"
#include "walkthrough/bench/cpu_team.hpp"
#include "walkthrough/bench/kernel_team.hpp"
#include "walkthrough/bench/peer_team.hpp"
#include "walkthrough/bench/report.hpp"

namespace flashbook::bench {
namespace {

/// Says that its launches took what was told.
class ToldTimes : public Repeated {
 public:
  explicit ToldTimes(std::vector<double> times) : times_(std::move(times)) {}
  double seconds() override { return times_[next_++ % times_.size()]; }

 private:
  std::vector<double> times_;
  std::size_t next_ = 0;
};

/// Runs each launch once.
class FakeDevice : public EmulatedDevice {
 public:
  explicit FakeDevice(std::vector<double> times) : EmulatedDevice({}), times_(std::move(times)) {}

  std::unique_ptr<Repeated> repeat(std::vector<std::function<void()>> launches) override {
    for (const auto& launch : launches) launch();
    return std::make_unique<ToldTimes>(times_);
  }
  Memory memory() const override { return {free, std::size_t{141} << 30}; }

  std::size_t free = std::size_t{141} << 30;

 private:
  std::vector<double> times_;
};

LaunchStatus twice_too_large(const flashbook_problem& p, const ForwardTensors& t, void* workspace,
                             void* stream) {
  const LaunchStatus status = emulated::one_pass_forward.launch(p, t, workspace, stream);
  auto* o = static_cast<float*>(t.o);
  for (std::int64_t i = 0; i < p.batch * p.heads_q * p.n_q * p.d_v; ++i) o[i] *= 2;
  return status;
}

LaunchStatus writes_nothing(const flashbook_problem&, const ForwardTensors&, void*, void*) {
  return {};
}

LaunchStatus does_not_start(const flashbook_problem&, const ForwardTensors&, void*, void*) {
  return {"kernel x: too many resources"};
}

ForwardKernel edited(const char* name, decltype(&writes_nothing) launch) {
  ForwardKernel kernel = emulated::one_pass_forward;
  kernel.name = name;
  kernel.launch = launch;
  return kernel;
}

const Shape small = {1, 2, 40, 16, true};
const AttentionProblem small_problem = problem_of(small, DType::fp32);

std::vector<Row> run(Device& device, std::span<const KernelPair> pairs, Pass pass,
                     const Gemm& gemm = {}) {
  const Tensors tensors(DType::fp32, 2 * 40 * 16);
  KernelTeam team(device, pairs);
  return bench({small, pass, small_problem, tensors}, {&team}, gemm, {});
}

const Row& named(const std::vector<Row>& rows, const std::string& impl) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.impl == impl; });
  REQUIRE(row != rows.end());
  return *row;
}

TEST_CASE("the default grid is that of the published tables") {
  const std::vector<Shape> shapes = default_shapes(Machine::gpu);
  CHECK(shapes.size() == 36);
  for (const Shape& s : shapes) {
    CHECK(s.batch * s.n == 16384);
    CHECK(s.heads * s.d == 2048);
  }
}

TEST_CASE("nominal operations: FA2's convention") {
  CHECK(nominal_flops({4, 16, 4096, 128, false}, Pass::forward) == 549755813888.0);
  CHECK(nominal_flops({4, 16, 4096, 128, true}, Pass::forward) == 274877906944.0);
  CHECK(nominal_flops({4, 16, 4096, 128, true}, Pass::backward) == 687194767360.0);
}

TEST_CASE("--shape: lists, masks, defaults") {
  const std::vector<Shape> shapes = parse_shapes("n=512,4096 d=128 causal dense", Machine::gpu);
  REQUIRE(shapes.size() == 4);
  CHECK(shapes[0].batch == 32);
  CHECK(shapes[0].heads == 16);
  CHECK_FALSE(shapes[1].causal);
  CHECK(shapes[2].causal);
  const std::vector<Shape> one = parse_shapes("n=100 d=64 b=3 h=5 causal", Machine::cpu);
  REQUIRE(one.size() == 1);
  CHECK(one[0].batch == 3);
  CHECK(one[0].heads == 5);
  CHECK(one[0].causal);
}

TEST_CASE("--shape: packed shapes stand beside the same tokens as a batch") {
  const std::vector<Shape> shapes = parse_shapes("n=40 d=16 b=3 h=2 packed", Machine::gpu);
  REQUIRE(shapes.size() == 2);
  CHECK_FALSE(shapes[0].packed);
  CHECK(shapes[1].packed);
  CHECK(text_of(shapes[1]) == "n = 40, d = 16, packed, 3 members, 2 heads");
  CHECK(nominal_flops(shapes[1], Pass::forward) == nominal_flops(shapes[0], Pass::forward));
  const AttentionProblem problem = problem_of(shapes[1], DType::fp16);
  CHECK(problem.cu_seqlens_q() == std::vector<std::int64_t>{0, 40, 80, 120});
  CHECK(problem.cu_seqlens_k() == problem.cu_seqlens_q());
}

TEST_CASE("a packed shape is timed and judged as what it is") {
  FakeDevice device({1e-3});
  const KernelPair pairs[] = {{"fa2", &emulated::fa2_forward, nullptr},
                              {"tensor_core", &emulated::tensor_core_forward, nullptr}};
  const Shape packed = {3, 2, 40, 16, true, true};
  const AttentionProblem problem = problem_of(packed, DType::fp16);
  const Tensors tensors(DType::fp16, 3 * 2 * 40 * 16);
  KernelTeam team(device, pairs);
  const std::vector<Row> rows = bench({packed, Pass::forward, problem, tensors}, {&team}, {}, {});
  CHECK(named(rows, "cuda.fa2@gpu").seconds);
  CHECK(named(rows, "cuda.tensor_core@gpu").note.find("cu_seqlens") != std::string::npos);
  CHECK(tables(rows).find("forward, d = 16, causal, packed, n = 40") != std::string::npos);
}

TEST_CASE("--shape: what cannot be is refused by its word") {
  for (const char* text :
       {"n=0 d=64", "n=-1 d=64", "n=512 d=257", "n=512x d=64", "n= d=64", "n d=64", "n=512", "d=64",
        "", "n=512 d=64 causa", "n=512 d=64 b=0", "n=1e3 d=64", "n=512, d=64", "m=3 n=512 d=64",
        "n=99999999999999999999 d=64", "n=1048576 d=256 h=1024 b=4096"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS(parse_shapes(text, Machine::gpu), InputError);
  }
}

TEST_CASE("a row holds the median, the spread, the rate and its fraction of the product's") {
  FakeDevice device({3e-3, 1e-3, 2e-3, 5e-3, 4e-3});
  const Gemm gemm = {std::make_unique<ToldTimes>(std::vector<double>{0.5}), 1e9};
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const std::vector<Row> rows = run(device, emulated_pairs(), pass, gemm);
    const Row& row =
        named(rows, pass == Pass::forward ? "cuda.one_pass@gpu" : "cuda.three_kernel@gpu");
    CHECK_FALSE(row.failed);
    REQUIRE(row.seconds);
    CHECK(*row.seconds == 3e-3);
    CHECK(*row.spread == doctest::Approx(4.0 / 3));
    CHECK(*row.margin > 0);
    CHECK(*row.margin <= 1);
    // 4 · 40² · 16 · 2 heads, half of it causal
    const double flops = pass == Pass::forward ? 102400 : 256000;
    CHECK(row.flops_rate() == doctest::Approx(flops / 3e-3));
    CHECK(*row.of_gemm() == doctest::Approx(flops / 3e-3 / 2e9));
  }
}

TEST_CASE("every kernel takes part once; what one does not take, it says") {
  FakeDevice device({1e-3});
  const std::vector<Row> rows = run(device, emulated_pairs(), Pass::backward);
  for (const Row& row : rows)
    CHECK(std::count_if(rows.begin(), rows.end(),
                        [&](const Row& other) { return other.impl == row.impl; }) == 1);
  const std::vector<Row> forward = run(device, emulated_pairs(), Pass::forward);
  const Row& refused = named(forward, "cuda.tensor_core@gpu");
  CHECK_FALSE(refused.seconds);
  CHECK_FALSE(refused.failed);
  CHECK(refused.note.find("dtype") != std::string::npos);
}

TEST_CASE("nothing is shown of a kernel whose result is wrong, unwritten or not there") {
  const ForwardKernel wrong = edited("wrong", twice_too_large),
                      idle = edited("idle", writes_nothing),
                      stuck = edited("stuck", does_not_start);
  const KernelPair pairs[] = {
      {"wrong", &wrong, nullptr}, {"idle", &idle, nullptr}, {"stuck", &stuck, nullptr}};
  FakeDevice device({1e-3});
  const std::vector<Row> rows = run(device, pairs, Pass::forward);
  for (const char* name : {"cuda.wrong@gpu", "cuda.idle@gpu", "cuda.stuck@gpu"}) {
    const Row& row = named(rows, name);
    CAPTURE(row.impl);
    CHECK(row.failed);
    CHECK_FALSE(row.seconds);
    CHECK_FALSE(row.note.empty());
  }
  CHECK(named(rows, "cuda.wrong@gpu").note.find("O") == 0);
  CHECK(named(rows, "cuda.idle@gpu").note.find("not written") != std::string::npos);
  CHECK(named(rows, "cuda.stuck@gpu").note.find("too many resources") != std::string::npos);
  const std::string text = tables(rows);
  CHECK(text.find("WRONG") != std::string::npos);
  CHECK(text.find("1 ms") == std::string::npos);
}

TEST_CASE("a problem that does not fit says what it needs and what the device has") {
  FakeDevice device({1e-3});
  device.free = 20000;  // S of two heads takes 2 · 40² · 4 bytes
  const std::vector<Row> rows = run(device, emulated_pairs(), Pass::forward);
  const Row& row = named(rows, "cuda.standard@gpu");
  CHECK_FALSE(row.seconds);
  CHECK_FALSE(row.failed);
  CHECK(row.note.find("of the device's 151 GB 20 kB are free") != std::string::npos);
}

TEST_CASE("implementations in C++ are timed and judged") {
  const Tensors tensors(DType::fp32, 2 * 40 * 16);
  const Implementations all = implementations();
  CpuTeam team(all);
  for (const Pass pass : {Pass::forward, Pass::backward})
    for (const Row& row : bench({small, pass, small_problem, tensors}, {&team}, {}, {})) {
      CAPTURE(row.impl);
      CHECK_FALSE(row.failed);
      if (!row.seconds) {  // io.split_kv has no backward pass
        CHECK_FALSE(row.note.empty());
        continue;
      }
      CHECK(*row.seconds > 0);
      CHECK(*row.margin <= 1);
    }
  CHECK(is_emulated("cuda.fa1@cpu"));
  CHECK_FALSE(is_emulated("cuda.fa1@gpu"));
  CHECK_FALSE(is_emulated("io.fa2"));
}

std::vector<Row> run_peers(const std::string& how) {
  const Shape one_key = {2, 3, 1, 8, false};  // O is V
  const AttentionProblem problem = problem_of(one_key, DType::fp32);
  const Tensors tensors(DType::fp32, 2 * 3 * 8);
  const std::string script = FLASHBOOK_SOURCE "/tests/unit/fake_peers.py";
  // The second word of the command line: how it behaves.
  PeerTeam team("python3", script, tensors, DType::fp32, 2 * 3 * 8, {how});
  CHECK(team.versions() == "fake 1.0");
  const Gemm gemm = how == "dies" ? Gemm{} : team.gemm();
  return bench({one_key, Pass::forward, problem, tensors}, {&team}, gemm, {});
}

TEST_CASE("peers are asked for their times, and judged") {
  const std::vector<Row> rows = run_peers("right");
  const Row& row = named(rows, "torch.fake");
  CHECK(*row.seconds == 0.25);
  CHECK(*row.gemm_flops == 8e9);
  CHECK(named(rows, "torch.absent").note == "there is no such kernel");
  CHECK(named(run_peers("wrong"), "torch.fake").failed);
  const std::vector<Row> dead = run_peers("dies");
  CHECK(named(dead, "torch.fake").failed);
  CHECK(named(dead, "torch.fake").note.find("python3") != std::string::npos);
}

}  // namespace
}  // namespace flashbook::bench
