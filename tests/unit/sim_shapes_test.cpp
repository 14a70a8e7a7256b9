// Packed against padded batches, and the memory of a decoder: against what runs count.
#include <doctest/doctest.h>

#include <random>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/kv_cache.hpp"
#include "sim/io/ragged.hpp"
#include "walkthrough/traffic_run.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

RaggedBatch ragged(std::vector<Index> lengths, bool causal = false) {
  RaggedBatch batch;
  batch.lengths = std::move(lengths);
  batch.heads_q = 2;
  batch.d = 4;
  batch.causal = causal;
  return batch;
}

RunOptions blocks_of(Index rows, Index columns) {
  RunOptions options;
  options.blocks = {rows, columns};
  return options;
}

Report counted(const char* algorithm, const AttentionProblem& problem, Blocks blocks = {8, 8}) {
  return run_on_random(find_algorithm(algorithm), problem, blocks_of(blocks.rows, blocks.columns));
}

const TensorTraffic& traffic(const Report& report, const std::string& name) {
  for (const TensorTraffic& t : report.tensors)
    if (t.name == name) return t;
  throw std::logic_error(name + " has no traffic");
}

Index moved(const Report& report) {
  return report.bytes_read() + report.bytes_written();
}

}  // namespace

TEST_CASE(
    "packed counts what each sequence counts alone; padded what the longest does, each time") {
  for (const Algorithm& algorithm : algorithms())
    for (const bool causal : {false, true}) {
      CAPTURE(algorithm.name);
      const RaggedBatch batch = ragged({17, 5, 0, 23, 1}, causal);
      const RunOptions options = blocks_of(8, 4);
      Index flops = 0, bytes = 0, tiles = 0;
      for (const Index length : batch.lengths) {
        const Report alone = run_on_random(algorithm, packed(ragged({length}, causal)), options);
        flops += alone.flops_executed;
        bytes += moved(alone);
        tiles += alone.visited_tiles;
      }
      Report together = run_on_random(algorithm, packed(batch), options);
      CHECK(together.flops_executed == flops);
      CHECK(together.visited_tiles == tiles);
      // A backward pass reads sinks once a head and has none here: nothing is shared.
      CHECK(moved(together) == bytes);

      const Report longest = run_on_random(algorithm, packed(ragged({23}, causal)), options);
      const Report filled = run_on_random(algorithm, padded(batch), options);
      CHECK(filled.flops_executed == 5 * longest.flops_executed);
      CHECK(moved(filled) == 5 * moved(longest));
      CHECK(filled.visited_tiles == 5 * longest.visited_tiles);
    }
}

TEST_CASE("a batch of equal lengths wastes nothing, and one of two lengths half of the shorter's") {
  const RaggedBatch equal = ragged({12, 12, 12});
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const Report a = closed_form(algorithm, packed(equal), {{8, 8}});
    const Report b = closed_form(algorithm, padded(equal), {{8, 8}});
    CHECK(a.flops_executed == b.flops_executed);
    CHECK(moved(a) == moved(b));
  }
  const RaggedBatch two = ragged({8, 4});
  const Report used = counted("fa2_forward", packed(two));
  const Report spent = counted("fa2_forward", padded(two));
  CHECK(wasted_share(used.flops_executed, spent.flops_executed) ==
        doctest::Approx(1 - (64. + 16) / 128));
}

TEST_CASE("a causal batch visits the tiles below the diagonal: 9 of 12 at N = 10, tiles 3 x 4") {
  RaggedBatch batch = ragged({10});
  for (const bool causal : {false, true}) {
    batch.causal = causal;
    const Index tiles = batch.heads_q * (causal ? 9 : 12);
    CHECK(counted("fa2_forward", packed(batch), {3, 4}).visited_tiles == tiles);
    CHECK(counted("fa2_forward", padded(batch), {3, 4}).visited_tiles == tiles);
  }
}

TEST_CASE("a batch of empty sequences is ordinary, and wastes no part of nothing") {
  const RaggedBatch empty = ragged({0, 0});
  const Report used = counted("fa2_forward", packed(empty));
  const Report spent = counted("fa2_forward", padded(empty));
  CHECK(used.flops_executed == 0);
  CHECK(spent.flops_executed == 0);
  CHECK(wasted_share(used.flops_executed, spent.flops_executed) == 0);
  CHECK(best_two_batches(empty).shorter == 0);
}

TEST_CASE("the best two batches are the best of all ways to part the sequences") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    RaggedBatch batch;
    const std::size_t n = 1 + random() % 8;
    for (std::size_t i = 0; i < n; ++i) batch.lengths.push_back(random() % 20);
    double fewest = 1e300;
    for (unsigned parts = 0; parts < (1u << n); ++parts) {  // bit i: sequence i is in the first
      double count[2] = {0, 0}, longest[2] = {0, 0};
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t part = parts >> i & 1u;
        count[part] += 1;
        longest[part] = std::max(longest[part], static_cast<double>(batch.lengths[i]));
      }
      fewest =
          std::min(fewest, count[0] * longest[0] * longest[0] + count[1] * longest[1] * longest[1]);
    }
    CHECK(best_two_batches(batch).pairs == fewest);
  }
}

TEST_CASE("impossible batches are refused") {
  CHECK_THROWS_WITH_AS(packed(ragged({})), doctest::Contains("is empty"), InputError);
  CHECK_THROWS_WITH_AS(padded(ragged({3, -1})), doctest::Contains("has -1"), InputError);
  CHECK_THROWS_WITH_AS(packed(ragged({Index{1} << 40})), doctest::Contains("2^62"), InputError);
  const Index most = std::numeric_limits<Index>::max();
  CHECK_THROWS_AS(packed(ragged({most, most, most})), InputError);
}

// ---- a decoder

TEST_CASE("S for N = 4096 in fp16 is 32 MiB a head, for N = 16384 512 MiB") {
  DecoderShape shape;
  CHECK(score_bytes(shape, 4096) == Index{32} << 20);
  CHECK(score_bytes(shape, 16384) == Index{512} << 20);
  // Q [4096, 128]: S has 32 times its elements, and 128 times at four times N.
  CHECK(score_bytes(shape, 4096) == 32 * 4096 * shape.d * 2);
  CHECK(score_bytes(shape, 4 * 4096) == 128 * 4 * 4096 * shape.d * 2);
}

TEST_CASE("S and the cache are what runs write and read of them") {
  const DecoderShape shape = {3, 6, 2, 5, 2, DType::bf16};
  const Index tokens = 19;
  AttentionProblem whole = prefill_problem(shape, tokens);
  const TensorTraffic S = traffic(counted("standard_forward", whole), "S");
  CHECK(score_bytes(shape, tokens) == S.element_bytes * S.counts.writes);

  const Report grouped = counted("fa2_forward", grouped_decode_problem(shape, tokens));
  const TensorTraffic K = traffic(grouped, "K"), V = traffic(grouped, "V");
  CHECK(kv_cache_bytes(shape, tokens) ==
        shape.layers * K.element_bytes * (K.counts.reads + V.counts.reads));
}

TEST_CASE("a group's heads in one tile compute as much, and read K and V once") {
  const DecoderShape shape = {1, 12, 3, 8, 2, DType::fp16};
  const Report single = counted("fa2_forward", decode_problem(shape, 100));
  const Report grouped = counted("fa2_forward", grouped_decode_problem(shape, 100));
  CHECK(single.flops_executed == grouped.flops_executed);
  CHECK(traffic(single, "K").counts.reads == 4 * traffic(grouped, "K").counts.reads);
  CHECK(traffic(single, "O").counts == traffic(grouped, "O").counts);
}

TEST_CASE("the cache and one layer's S cross where the formula says") {
  for (const DecoderShape& shape :
       {DecoderShape{32, 32, 8, 128, 1, DType::fp16}, DecoderShape{4, 8, 1, 64, 3, DType::fp32}}) {
    const double at = crossing_tokens(shape);
    const Index n = static_cast<Index>(at);
    CHECK(static_cast<double>(n) == at);
    CHECK(score_bytes(shape, n) == kv_cache_bytes(shape, n));
    CHECK(score_bytes(shape, n - 1) < kv_cache_bytes(shape, n - 1));
    CHECK(score_bytes(shape, n + 1) > kv_cache_bytes(shape, n + 1));
  }
}

TEST_CASE("impossible decoders are refused") {
  CHECK_THROWS_WITH_AS(kv_cache_bytes({0}, 1), doctest::Contains("--layers"), InputError);
  CHECK_THROWS_WITH_AS(kv_cache_bytes({}, 0), doctest::Contains("--tokens"), InputError);
  CHECK_THROWS_WITH_AS(score_bytes({1, 6, 4}, 8), doctest::Contains("--heads-kv"), InputError);
  CHECK_THROWS_WITH_AS(score_bytes({}, Index{1} << 40), doctest::Contains("2^62"), InputError);
  CHECK_THROWS_AS(crossing_tokens({1, 1, 1, -5}), InputError);
}
