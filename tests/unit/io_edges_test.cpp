// What mutants of sim/io showed no other test to see: refusals, defaults, and values at their
// edges.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/best_blocks.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/eager.hpp"
#include "sim/io/implementations.hpp"
#include "sim/io/kv_cache.hpp"
#include "sim/io/power_law.hpp"
#include "sim/io/ragged.hpp"
#include "sim/io/roofline.hpp"
#include "sim/io/tilings.hpp"
#include "tests/unit/io_runs.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

using doctest::Contains;

/// 4 (5d + 2) bytes a pair: with d = 2, 2^40 pairs a head and 87,381 heads are below 2^62 bytes,
/// and one head more is not.
constexpr Index many = Index{1} << 20;

RaggedBatch sequences(std::size_t count, Index tokens, Index heads) {
  RaggedBatch batch;
  batch.lengths.assign(count, tokens);
  batch.heads_q = heads;
  batch.d = 2;
  return batch;
}

PowerLaw law_of(std::initializer_list<Sample> samples, double tolerance) {
  const auto law = longest_power_law(std::span(samples.begin(), samples.size()), tolerance);
  REQUIRE(law);
  return *law;
}

}  // namespace

TEST_CASE("decoder shapes: every size below 1 is refused by name, by every question") {
  CHECK_THROWS_WITH_AS(check({.heads_q = 0}, 1), Contains("--heads)"), InputError);
  CHECK_THROWS_WITH_AS(check({.heads_kv = 0}, 1), Contains("--heads-kv)"), InputError);
  CHECK_THROWS_WITH_AS(check({.batch = 0}, 1), Contains("--batch"), InputError);
  CHECK_THROWS_WITH_AS(check({.d = 0}, 1), Contains("--d)"), InputError);
  CHECK_THROWS_WITH_AS(prefill_problem({}, 0), Contains("--tokens"), InputError);
  CHECK_THROWS_WITH_AS(decode_problem({}, 0), Contains("--tokens"), InputError);
  CHECK_THROWS_WITH_AS(grouped_decode_problem({}, 0), Contains("--tokens"), InputError);
}

TEST_CASE(
    "decoder shapes: a prompt is causal, a new token sees all; one layer and head by default") {
  const DecoderShape shape = {.heads_q = 4, .heads_kv = 2};
  CHECK(prefill_problem(shape, 3)->causal == 1);
  CHECK(decode_problem(shape, 3)->causal == 0);
  CHECK(grouped_decode_problem(shape, 3)->causal == 0);
  CHECK(kv_cache_bytes({}, 5) == 2 * 5 * 128 * 2);
  CHECK(score_bytes({}, 5) == 5 * 5 * 2);
}

TEST_CASE("counts that may pass 2^62 are refused, and no others") {
  CHECK_NOTHROW(check({.layers = 9, .heads_q = 73, .d = 2, .batch = 133}, many));
  CHECK_THROWS_AS(check({.layers = 10, .heads_q = 73, .d = 2, .batch = 133}, many), InputError);
  CHECK_NOTHROW(check(sequences(1197, many, 73)));
  CHECK_THROWS_AS(check(sequences(1198, many, 73)), InputError);
  CHECK_NOTHROW(check_countable("n", many, 6, 0x1p15));  // 2^62 itself
}

TEST_CASE("two batches: how many sequences are shorter, and the longest of them") {
  const auto parted = [](std::vector<Index> lengths) {
    RaggedBatch batch;
    batch.lengths = std::move(lengths);
    return best_two_batches(batch);
  };
  const TwoBatches one = parted({3}), two = parted({3, 1}), three = parted({9, 2, 1});
  CHECK(one.shorter == 0);
  CHECK(one.longest_shorter == 0);
  CHECK(one.pairs == 9);
  CHECK(two.shorter == 1);
  CHECK(two.longest_shorter == 1);
  CHECK(three.shorter == 2);
  CHECK(three.longest_shorter == 2);
  CHECK_THROWS_AS(parted({}), InputError);
}

TEST_CASE("a ragged batch has one head of 64 channels in fp16, not causal, unless told") {
  RaggedBatch batch;
  CHECK(batch.longest() == 0);
  CHECK(batch.tokens() == 0);
  batch.lengths = {3};
  const AttentionProblem problem = packed(batch);
  CHECK(problem->heads_q == 1);
  CHECK(problem->d == 64);
  CHECK(problem->causal == 0);
  CHECK(problem.dtype() == DType::fp16);
  batch.dtype = DType::bf16;
  CHECK(padded(batch).dtype() == DType::bf16);
}

TEST_CASE("power laws: a run at the tolerance and four times as long holds; the straightest wins") {
  const std::initializer_list<Sample> bent = {{1, 1}, {2, 2.1}, {3, 3}, {4, 4}};
  const double residual = law_of(bent, 1).residual;
  CHECK(law_of(bent, residual).samples == 4);
  const Sample short_range[] = {{1, 1}, {2, 2}, {3, 3}, {3.99, 3.99}};
  CHECK_FALSE(longest_power_law(short_range, 1));

  // Of two runs of four samples one is straight, the first or the last.
  const std::initializer_list<Sample> last = {{1, 2}, {2, 2}, {4, 4}, {8, 8}, {16, 16}};
  const std::initializer_list<Sample> first = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 8}};
  CHECK(law_of(last, .28).first == 2);
  CHECK(law_of(first, .28).first == 1);
  // Two runs of four, apart; both hold, and the first is the straighter.
  const std::initializer_list<Sample> apart = {{1, 1},     {2, 2},     {4, 4},     {8, 8},
                                               {16, 1600}, {32, 3200}, {64, 6400}, {128, 14000}};
  CHECK(law_of(apart, .1).first == 1);
  const Sample from_2[] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}};
  CHECK_FALSE(longest_power_law(from_2, 1));
  const Sample endless[] = {{1, 1}, {2, std::numeric_limits<double>::infinity()}};
  CHECK_THROWS_AS(fit_power_law(endless), InputError);
}

TEST_CASE("roofline: names, empty problems, and traffic where a head is one tile") {
  CHECK(io::name(Resource::exp2, DType::fp16) == "exp2");
  CHECK(io::name(Resource::dram, DType::fp16) == "DRAM");
  CHECK(io::name(Resource::matmul, DType::fp32) == "fp32");

  const Algorithm& fa1 = find_algorithm("fa1_forward_shipped");
  const AttentionProblem problem = testing::square(64, 8, false);
  const Schedule schedule = {{16, 16}};
  const Demand demand = demand_of(fa1, problem, schedule, closed_form(fa1, problem, schedule));
  CHECK(demand.dram_bytes == (4 * 64 * 8 + 64) * 4);  // Q, K, V in, O and the LSE out
  CHECK(demand.sram_bytes > demand.dram_bytes);
  CHECK(demand.scores == 64 * 64);
  CHECK(demand.rescales == 64 * 4);

  const AttentionProblem empty = testing::square(0, 8, false);
  const Demand none = demand_of(fa1, empty, schedule, closed_form(fa1, empty, schedule));
  CHECK(none.flops == 0);
  CHECK(none.rescales == 0);
  const Algorithm& standard = find_algorithm("standard_forward");
  const Report whole = closed_form(standard, problem, schedule);
  CHECK(demand_of(standard, problem, schedule, whole).rescales == 0);
}

TEST_CASE("what cannot run is refused before it does") {
  const Algorithm& fa2 = find_algorithm("fa2_forward");
  const AttentionProblem problem = testing::square(4, 2, false);
  flashbook_problem fields = problem.fields();
  fields.dtype = FLASHBOOK_FP64;
  CHECK_THROWS_WITH_AS(check_runs(fa2, AttentionProblem(fields), {}), Contains("fp64"), InputError);
  CHECK_THROWS_WITH_AS(check_runs(fa2, problem, {{0, 1}}), Contains("blocks"), InputError);
  CHECK_THROWS_WITH_AS(check_runs(fa2, problem, {{1, 0}}), Contains("blocks"), InputError);
  CHECK_THROWS_WITH_AS(check_runs(fa2, problem, {{1, 1}, 2}), Contains("splits"), InputError);
  CHECK_THROWS_WITH_AS(check_runs(fa2, problem, {{1, 1}, 0}), Contains("splits"), InputError);
  CHECK_THROWS_WITH_AS(check_runs(fa2, problem, {{1, 1}, 1, true}), Contains("includes_init"),
                       InputError);
  CHECK_THROWS_AS(testing::run_random(fa2, problem, {{{0, 1}}}), InputError);
  CHECK_THROWS_AS(closed_form(fa2, problem, {{0, 1}}), InputError);
  CHECK_THROWS_WITH_AS(Blocked("io.none", {}), Contains("pass one of io.fa2, io.fa1,"), InputError);
  const Algorithm& standard = find_algorithm("standard_forward");
  CHECK_NOTHROW(check_runs(standard, problem, {{0, 0}}));
  CHECK_THROWS_WITH_AS(best_blocks(standard, problem, 1000), Contains("no blocks"), InputError);
  CHECK_THROWS_WITH_AS(best_blocks(fa2, AttentionProblem(fields), 1000), Contains("fp64"),
                       InputError);
}

TEST_CASE("a pass that splits the keys has no backward pass to run") {
  const Blocked split("io.split_kv", {});
  CHECK_THROWS_AS(split.backward(testing::square(1, 1, false), {}, {}, {}, {}), InputError);
}

TEST_CASE("only fp32 is added to atomically, and kinds have names") {
  CHECK(io::name(Kind::matrix) == "matrix");
  CHECK(io::name(Kind::vector) == "vector");
  Hbm hbm;
  half value{};
  const Tensor output =
      hbm.add_output("O", {Kind::matrix, DType::fp16, {1, 1, 1, 1}, {1, 1, 1, 1}}, &value);
  Sram sram(hbm);
  Tile tile = sram.allocate("tile", 1, 1);
  tile.setZero();
  CHECK_THROWS_WITH_AS(sram.atomic_add(tile, output, {0, 0, 0, 1, 0, 1}), Contains("not fp32"),
                       std::logic_error);
}

TEST_CASE("the paper's blocks of an SRAM of one element; and SRAM just large enough") {
  const AttentionProblem problem = testing::square(16, 4, false);
  CHECK(paper_blocks(problem, 4) == Blocks{1, 1});
  CHECK_THROWS_AS(paper_blocks(problem, 3), InputError);
  const Algorithm& fa2 = find_algorithm("fa2_forward");
  const Index least = fa2.footprint(problem, {1, 1}) / bytes_of(DType::fp32);
  CHECK(best_tiling(fa2, 16, 4, least, DType::fp32));
  CHECK_FALSE(best_tiling(fa2, 16, 4, least - 1, DType::fp32));
}

TEST_CASE("a turn needs an end at which what it asks holds") {
  CHECK_FALSE(turn_of(1, 9, [](Index) { return false; }));
  CHECK_FALSE(turn_of(1, 9, [](Index x) { return x < 5; }));
  const auto turn = turn_of(1, 9, [](Index x) { return x >= 5; });
  REQUIRE(turn);
  CHECK(turn->first == 5);
  CHECK_FALSE(turn_of(1, 9, [](Index x) { return x == 4 || x == 5; }));
  CHECK(turn_of(1, 9, [](Index x) { return x >= 2; })->first == 2);
  CHECK(turn_of(1, 9, [](Index x) { return x == 4 || x >= 7; })->first == 4);
  for (Index n = 2000; n < 2010; ++n)
    CHECK(turn_of(1, 3000, [n](Index x) { return x >= n; })->first == n);
}

TEST_CASE("a tiling is of the type that is asked for") {
  flashbook_problem fields = testing::square(64, 8, false).fields();
  fields.dtype = FLASHBOOK_FP16;
  const Algorithm& fa2 = find_algorithm("fa2_forward");
  const auto tiling = best_tiling(fa2, 64, 8, 1000, DType::fp16);
  REQUIRE(tiling);
  CHECK(tiling->blocks == best_blocks(fa2, AttentionProblem(fields), 2000));
  CHECK_FALSE(tiling->blocks == best_tiling(fa2, 64, 8, 1000, DType::fp32)->blocks);
}

TEST_CASE("eager passes: what is read, and what is written") {
  Index read = 0, written = 0;
  for (const EagerPass& pass : eager_passes()) {
    read += pass.bytes_read(2, 3);
    written += pass.bytes_written(2, 3);
  }
  CHECK(read == (8 * 2 * 3 + 10 * 2 * 2) * 2 + 2 * 2);  // 8 Nd and 10 N² of 2 bytes, N² of 1
  CHECK(written == (4 * 2 * 3 + 7 * 2 * 2) * 2 + 2 * 2);
}

TEST_CASE("footprints of tall tiles, where the bias's kernel holds most, are what a run holds") {
  flashbook_problem fields = testing::square(16, 2, false).fields();
  const AttentionProblem plain(fields);
  set_contiguous_bias(fields, {1, 1, 16, 16});
  const AttentionProblem biased(fields);
  const Schedule schedule = {{16, 16}};
  for (const Algorithm& algorithm : algorithms())
    for (const AttentionProblem* problem : {&plain, &biased}) {
      if (!algorithm.takes.blocks || algorithm.takes.splits) continue;
      CAPTURE(algorithm.name);
      const Report report = testing::run_random(algorithm, *problem, {schedule});
      CHECK(report.peak_sram_bytes == algorithm.footprint(*problem, schedule.blocks));
    }
}

TEST_CASE("an implementation is called by its name, and by its schedule where it is another") {
  CHECK(Blocked("io.fa2").name() == "io.fa2");
  CHECK(Blocked("io.fa2", {{7, 5}}).name() == "io.fa2[7x5]");
  CHECK(Blocked("io.split_kv", {{16, 48}, 3}).name() == "io.split_kv[16x48/3]");
  CHECK_FALSE(Blocked("io.fused").properties().deterministic_dq);
  for (const char* name : {"io.fused_in_order", "io.fa2", "io.fa1", "io.split_kv"})
    CHECK(Blocked(name).properties().deterministic_dq);
}
