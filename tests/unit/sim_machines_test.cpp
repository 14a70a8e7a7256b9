// GPUs' limits, what passes ask of them, and the passes of an eager framework.
#include "sim/io/machines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/error.hpp"
#include "io_runs.hpp"
#include "sim/io/eager.hpp"
#include "sim/io/roofline.hpp"

using namespace flashbook;
using namespace flashbook::io;
using flashbook::testing::run_random;

namespace {

const Gpu& gpu_called(const char* name) {
  REQUIRE(find_gpu(name) != nullptr);
  return *find_gpu(name);
}

AttentionProblem problem_of(Index n, Index d, Index batch = 1, Index heads = 1, bool causal = false,
                            DType dtype = DType::bf16) {
  flashbook_problem p = dense_problem(batch, heads, heads, n, n, d, d);
  p.dtype = static_cast<std::int32_t>(dtype);
  p.causal = causal;
  return AttentionProblem(p);
}

Demand demand_of_run(const char* name, const AttentionProblem& problem, const Schedule& schedule) {
  const Algorithm& algorithm = find_algorithm(name);
  return demand_of(algorithm, problem, schedule, run_random(algorithm, problem, {schedule}));
}

Demand demand_by_formula(const char* name, const AttentionProblem& problem,
                         const Schedule& schedule) {
  const Algorithm& algorithm = find_algorithm(name);
  return demand_of(algorithm, problem, schedule, closed_form(algorithm, problem, schedule));
}

}  // namespace

// No check of the clocks: they are derived from the peaks in this way. It finds mistyped digits.
TEST_CASE("machines: the clock is where the tensor cores reach their peak, as it is defined") {
  const std::pair<const char*, double> per_clock[] = {
      {"A100", 2048}, {"RTX 4080", 512}, {"H100", 4096}, {"H200", 4096}, {"B200", 8192}};
  CHECK(std::size(per_clock) == gpus().size());
  for (const auto& known : per_clock) {
    const Gpu& gpu = gpu_called(known.first);
    CAPTURE(gpu.name);
    const double peak = static_cast<double>(gpu.multiprocessors) * gpu.clock_hz * known.second;
    CHECK(std::abs(gpu.tensor_flops_per_s / peak - 1) <= 2e-3);
    CHECK(gpu.exp2_per_clock == 16);
    check(gpu);
  }
}

TEST_CASE("machines: ridge points") {
  const auto ridge = [](const char* name) {
    return std::lround(gpu_called(name).ridge(DType::bf16));
  };
  CHECK(ridge("A100") == 153);
  CHECK(ridge("H100") == 295);
  CHECK(ridge("H200") == 206);
  CHECK(ridge("B200") == 281);
  CHECK(ridge("RTX 4080") == 136);
  CHECK(std::lround(gpu_called("H100").ridge(DType::fp32)) == 20);
}

TEST_CASE("machines: names are found in any spelling, and only those") {
  CHECK(same_name("rtx4080", "RTX 4080"));
  CHECK(same_name("h-100", "H100"));
  CHECK_FALSE(same_name("H100", "H200"));
  CHECK_FALSE(same_name("H10", "H100"));
  CHECK(find_gpu("H10") == nullptr);
}

TEST_CASE("machines: a field that is no limit is refused by name") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const GpuField& field : gpu_fields())
    for (const double bad : {0., -1., infinity, std::nan("")}) {
      const bool whole = std::holds_alternative<Index Gpu::*>(field.member);
      if ((whole && !std::isfinite(bad)) || (bad == 0 && field.may_be_unknown)) continue;
      Gpu gpu = gpu_called("H100");
      check(gpu);
      if (whole)
        gpu.*std::get<Index Gpu::*>(field.member) = static_cast<Index>(bad);
      else
        gpu.*std::get<double Gpu::*>(field.member) = bad;
      const std::string naming = std::string(field.name) + " is ";
      CAPTURE(naming);
      CHECK_THROWS_WITH_AS(check(gpu), doctest::Contains(naming.c_str()), InputError);
    }
  Gpu cacheless = gpu_called("H100");
  cacheless.l2_bytes = 0;
  check(cacheless);
  Gpu nameless = gpu_called("H100"), sourceless = nameless;
  nameless.name = " ";
  sourceless.source = "";
  CHECK_THROWS_WITH_AS(check(nameless), doctest::Contains("name"), InputError);
  CHECK_THROWS_WITH_AS(check(sourceless), doctest::Contains("source"), InputError);
}

TEST_CASE(
    "roofline: Hopper's exp2 takes 1, 1/2, 1/4 of the time of the products, d = 64, 128, 256") {
  for (const char* name : {"H100", "H200"})
    for (const Index d : {64, 128, 256}) {
      const Index n = 16384;
      const Demand demand = demand_by_formula("fa2_forward", problem_of(n, d), {{128, n}});
      const Times times = times_on(gpu_called(name), DType::bf16, demand);
      CAPTURE(d);
      CHECK(std::abs(times.exp2 / times.matmul * static_cast<double>(d) / 64 - 1) <= 1e-3);
    }
}

TEST_CASE("roofline: intensity is d/2 where S and P pass through DRAM, N/2 where they do not") {
  const double n = 4096, d = 128;
  const AttentionProblem problem = problem_of(4096, 128, 2, 3);
  const Demand standard = demand_by_formula("standard_forward", problem, {});
  CHECK(standard.intensity() == doctest::Approx(d / 2 * n / (n + d)).epsilon(1e-12));
  CHECK(standard.dram_bytes == standard.sram_bytes);
  const Demand flash = demand_by_formula("fa2_forward", problem, {{128, 128}});
  CHECK(flash.dram_bytes == 6 * (2 * 4 * 4096 * 128 + 4 * 4096));  // and the LSE
  CHECK(flash.intensity() == doctest::Approx(n / 2 * d / (d + .5)).epsilon(1e-12));
  CHECK(flash.sram_bytes == 6 * (2 * (2 + 2 * 32) * 4096 * 128 + 4 * 4096));
}

TEST_CASE(
    "roofline: exp2 of the worked example, N = 10, B_r = 3, B_c = 4, causal: 76 pairs, R = 21") {
  const AttentionProblem problem = problem_of(10, 5, 2, 3, true);
  const Schedule schedule = {{3, 4}};
  const auto check_exp2 = [&](const char* name, Index scores, Index rescales) {
    CAPTURE(std::string(name));
    const Demand demand = demand_of_run(name, problem, schedule);
    CHECK(demand.scores == 6 * scores);
    CHECK(demand.rescales == 6 * rescales);
    const Demand formula = demand_by_formula(name, problem, schedule);
    CHECK(formula.scores == demand.scores);
    CHECK(formula.sram_bytes == demand.sram_bytes);
    CHECK(formula.flops == demand.flops);
  };
  check_exp2("fa2_forward", 76, 21);
  check_exp2("fa1_forward_shipped", 76, 21);
  check_exp2("fused_backward", 76, 0);
  check_exp2("three_kernel_backward", 2 * 76, 0);
  check_exp2("standard_forward", 100, 0);
  check_exp2("standard_backward", 0, 0);
}

TEST_CASE("roofline: each resource alone, and the slowest binds") {
  // 4 multiprocessors x 2 exp2 x 5 Hz = 40 exp2/s.
  const Gpu gpu = {"toy", "this test", 4, 1024, 4096, 10, 100, 20, 5, 2};
  check(gpu);
  const Demand demand = {
      .flops = 600, .scores = 70, .rescales = 10, .sram_bytes = 999, .dram_bytes = 50};
  const Times tensor = times_on(gpu, DType::fp16, demand);
  CHECK(tensor.matmul == 6);
  CHECK(tensor.exp2 == 2);
  CHECK(tensor.dram == 5);
  CHECK(tensor.binding() == Resource::matmul);
  CHECK(tensor.longest() == 6);
  CHECK(times_on(gpu, DType::fp32, demand).matmul == 30);
  CHECK(Times{1, 3, 2}.binding() == Resource::exp2);
  CHECK(Times{1, 2, 3}.binding() == Resource::dram);
  CHECK(name(Resource::matmul, DType::bf16) == "tensor");
  CHECK(name(Resource::matmul, DType::fp32) == "fp32");
}

TEST_CASE("a report of one head, repeated, is the report of them all") {
  for (const char* name : {"fa2_forward", "fused_backward", "standard_forward"}) {
    const Algorithm& algorithm = find_algorithm(name);
    const RunOptions options = {{{8, 12}}};
    const Report one = run_random(algorithm, problem_of(50, 8, 1, 1, true), options);
    const Report all = run_random(algorithm, problem_of(50, 8, 2, 3, true), options);
    const Report repeated = one.repeated(6);
    CHECK(repeated.tensors == all.tensors);
    CHECK(repeated.query_heads == 6);
    CHECK(repeated.visited_tiles == all.visited_tiles);
    CHECK(repeated.flops_executed == all.flops_executed);
    CHECK(repeated.flops_nominal == all.flops_nominal);
    CHECK(repeated.peak_sram_bytes == all.peak_sram_bytes);
  }
}

// ---- the FA1 paper's Figure 2

namespace {

constexpr Index N = 1024, d = 64, heads = 64 * 16;

/// Elements of matrices that a run of one head moves.
Index elements(const char* name, const Blocks& blocks) {
  const Report report =
      run_random(find_algorithm(name), problem_of(N, d, 1, 1, false, DType::fp16), {{blocks}});
  return report.matrix_reads() + report.matrix_writes();
}

double gigabytes(Index elements_a_head) {
  return 2e-9 * static_cast<double>(elements_a_head * heads);
}

}  // namespace

TEST_CASE("Figure 2, left: 25.2 GB by the paper's standard algorithms, 4.43 GB by flash") {
  const Index standard =
      elements("standard_forward", {1, 1}) + elements("standard_backward", {1, 1});
  CHECK(standard == 12 * N * d + 11 * N * N);
  CHECK(gigabytes(standard) == doctest::Approx(25.23).epsilon(5e-4));
  const Blocks blocks = paper_blocks(problem_of(N, d), 2 * 65536);
  CHECK(blocks == Blocks{64, 256});
  const Index flash =
      elements("fa1_forward_shipped", blocks) + elements("fa1_backward_shipped", blocks);
  CHECK(flash == 33 * N * d);
  CHECK(gigabytes(flash) == doctest::Approx(4.43).epsilon(5e-4));
}

TEST_CASE("Figure 2, middle: (3T_c + 1) Nd; 3.36 GB at B_c = 128, 1.75 GB at 256") {
  for (const Index B_c : {64, 128, 256, 512})
    CHECK(elements("fa1_forward_shipped", {64, B_c}) == (3 * N / B_c + 1) * N * d);
  CHECK(gigabytes(elements("fa1_forward_shipped", {64, 128})) ==
        doctest::Approx(3.36).epsilon(2e-3));
  CHECK(gigabytes(elements("fa1_forward_shipped", {64, 256})) ==
        doctest::Approx(1.745).epsilon(2e-3));
}

TEST_CASE("Figure 2: an eager framework moves N x N 8.5 + 9.5 times and N x d 12 times: 40.3 GB") {
  Index forward = 0, backward = 0, rows = 0;  // halves of fp16 matrices: bytes an element
  for (const EagerPass& pass : eager_passes())
    for (const EagerTensor& tensor : pass.tensors) {
      if (tensor.square) (pass.backward ? backward : forward) += tensor.element_bytes;
      if (!tensor.square) rows += tensor.element_bytes;
    }
  CHECK(forward == 17);
  CHECK(backward == 19);
  CHECK(rows == 24);
  Index bytes = 0;
  for (const EagerPass& pass : eager_passes())
    bytes += heads * (pass.bytes_read(N, d) + pass.bytes_written(N, d));
  CHECK(bytes == heads * (36 * N * N + 24 * N * d));
  CHECK(std::abs(static_cast<double>(bytes) / 40.3e9 - 1) <= 5e-3);
}

TEST_CASE("eager passes: what is read was written before, and every intermediate is read again") {
  std::vector<std::string_view> known = {"Q", "K", "V", "dO"}, outputs = {"O", "dQ", "dK", "dV"};
  const auto holds = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string_view> read;
  for (const EagerPass& pass : eager_passes()) {
    for (const EagerTensor& tensor : pass.tensors)
      if (!tensor.written) {
        CAPTURE(tensor.name);
        CHECK(holds(known, tensor.name));
        read.push_back(tensor.name);
      }
    for (const EagerTensor& tensor : pass.tensors)
      if (tensor.written) known.push_back(tensor.name);
  }
  for (const std::string_view name : known) {
    CAPTURE(name);
    CHECK((holds(read, name) || holds(outputs, name)));
  }
}
