// An algorithm that is not in the table, added as docs/simulator.md tells it: the page shows
// the two regions of this file, and the test "pages" compares.
#include <doctest/doctest.h>

#include <algorithm>

#include "random_problem.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/footprint.hpp"
#include "sim/io/closed_form/totals.hpp"
#include "sim/io/forward_steps.hpp"
#include "sim/io/tile_math.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

// [the_algorithm]
/// Softmax in two passes over the keys: the first finds the LSE, the second
/// weighs V with P = exp(S − LSE). Nothing is ever rescaled; the price is to
/// read K twice.
class TwoPassForward {
 public:
  TwoPassForward(Hbm& hbm, const AttentionProblem& problem,  // shapes, options
                 const RunTensors& tensors, const RunOptions& options)
      : problem_(problem),
        B_c_(options.blocks.columns),
        hbm_(bind_forward(hbm, problem, tensors)),
        scores_(problem, hbm_),
        steps_(problem, options, hbm_) {}

  void row_tile(Sram& sram, const QueryTile& tile) const {
    const auto& [member, h, rows] = tile;
    const float slope = steps_.load_slope(sram, member, h);
    const Tile Q = steps_.load_queries(sram, tile);
    const Range visited = steps_.key_tiles_of(tile);
    const SoftmaxState first = steps_.load_first_state(sram, h);
    RowState row = steps_.start(sram, rows.size(), first);
    for (Index j = visited.first; j < visited.last; ++j) {
      Tile S = load_scores(sram, tile, j, slope, Q);
      for (Index i = 0; i < S.rows(); ++i) {
        absorb(S.row(i).array(), row.m(i), row.l(i));
      }
      sram.end_step();
    }
    const Tile& lse = row.lse_in_place(sram);
    for (Index j = visited.first; j < visited.last; ++j) {
      Tile P = load_scores(sram, tile, j, slope, Q);
      const Range keys = tile_of(j, B_c_, member.n_k);
      const Index h_kv = problem_.kv_head(h);
      Tile V = sram.load(hbm_.v, key_rows(member, h_kv, keys, problem_->d_v));
      const SilencedKeys silenced(P, V);
      for (Index i = 0; i < P.rows(); ++i)
        P.row(i) = weights(P.row(i).array() - shift_of(lse(i))).matrix();
      round_tile(P, problem_.dtype());
      add_product(sram, row.O, P, V);
      sram.show("P = exp(S − LSE)", P);
      sram.show("O = O + P V", row.O);
      sram.end_step();
    }
    sram.store(row.O, hbm_.o, query_rows(member, h, rows, problem_->d_v));
    sram.store(lse, hbm_.lse, query_rows(member, h, rows, 1));
  }

 private:
  /// S of key tile j. Nothing of K stays.
  Tile load_scores(Sram& sram, const QueryTile& tile, Index j,  // key tile j
                   float slope, const Tile& Q) const {
    const auto& [member, h, rows] = tile;
    const Range keys = tile_of(j, B_c_, member.n_k);
    const Index h_kv = problem_.kv_head(h);
    const Tile K = sram.load(hbm_.k, key_rows(member, h_kv, keys, problem_->d));
    Tile S = sram.allocate("S", rows.size(), keys.size());
    scores_.compute(sram, {member, h, rows, keys}, slope, Q, K, S);
    sram.count_visited_tile();
    return S;
  }

  const AttentionProblem& problem_;
  const Index B_c_;
  const Tensors hbm_;
  const ScoreRule scores_;
  const ForwardSteps steps_;
};

void two_pass_forward(Machine& machine, const AttentionProblem& p,  // sizes
                      const RunTensors& tensors, const RunOptions& options) {
  const TwoPassForward kernel(machine.hbm, p, tensors, options);
  launch_over(machine, query_tiles(p, options.blocks.rows),
              [&](Sram& sram, auto& tile) { kernel.row_tile(sram, tile); });
}
// [/the_algorithm]

// [its_closed_form]
/// Bytes of Q, O, m, ℓ; S; and beside it K with the bias's tile, or V.
Index two_pass_footprint(const AttentionProblem& p, const Blocks& tile) {
  const Index rows = tile.rows, keys = tile.columns, e = bytes_of(p.dtype());
  const Index own = e * rows * p->d + 4 * rows * (p->d_v + 2);
  if (keys == 0) return own;
  return own + 4 * rows * keys +
         std::max(e * keys * p->d + bias_bytes(p, tile, e), e * keys * p->d_v);
}

/// Q, O and LSE once; K twice a row tile, V once.
void count_two_pass(const AttentionProblem& p, const Schedule& s, Report& out) {
  const Totals n = totals_of(p, s.blocks);
  const Index H = p->heads_q;
  const Visits& v = n.visited;
  TrafficTable t(p, out);
  t.matrix("Q", H * n.n_q * p->d);
  t.matrix("K", 2 * H * v.columns * p->d);
  t.matrix("V", H * v.columns * p->d_v);
  if (p->has_bias) t.matrix("bias", 2 * H * bias_reads(p, v));
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", H * n.row_tiles);
  if (p->has_sinks) t.vector("sinks", H * n.row_tiles);
  t.matrix("O", 0, H * n.n_q * p->d_v);
  t.fp32_vector("LSE", 0, H * n.n_q);
  out.visited_tiles = 2 * H * v.tiles;
  out.flops_executed = 2 * H * v.pairs * (2 * p->d + p->d_v);
  Index& peak = out.peak_sram_bytes;
  for (const auto& [rows, keys] : v.row_tiles)
    peak = std::max(peak, two_pass_footprint(p, {rows, keys}));
}

constexpr Algorithm two_pass = {"two_pass_forward",
                                "softmax in two passes over the keys",
                                false,
                                {.blocks = true},
                                true,
                                {.keys = true},
                                two_pass_forward,
                                count_two_pass,
                                two_pass_footprint};
// [/its_closed_form]

RunTensors run_tensors(testing::Tensors& t) {
  return {t.inputs(), t.outputs(), t.cotangents(), t.gradients()};
}

}  // namespace

TEST_CASE("an algorithm added in an afternoon: a run counts what its closed form says") {
  testing::Random random(61);
  for (int n = 0; n < 500; ++n) {
    const AttentionProblem problem = testing::random_problem(random);
    testing::Tensors tensors(problem, random);
    RunOptions options;
    options.blocks = {testing::pick(random, 1, 10), testing::pick(random, 1, 10)};
    CAPTURE(testing::describe(problem));
    const Report executed = run(two_pass, problem, run_tensors(tensors), options);
    const Report formula = closed_form(two_pass, problem, options);
    CHECK(executed.tensors == formula.tensors);
    CHECK(executed.visited_tiles == formula.visited_tiles);
    CHECK(executed.flops_executed == formula.flops_executed);
    CHECK(executed.peak_sram_bytes == formula.peak_sram_bytes);
  }
}

TEST_CASE("and computes attention: FA2's O and LSE, to rounding") {
  testing::Random random(67);
  for (int n = 0; n < 200; ++n) {
    const AttentionProblem problem = testing::random_problem(random);
    if (problem.dtype() != DType::fp32) continue;
    testing::Tensors tensors(problem, random);
    run(find_algorithm("fa2_forward"), problem, run_tensors(tensors), {{{4, 3}}});
    const testing::Storage O = tensors.o, lse = tensors.lse;
    tensors.clear_outputs();
    run(two_pass, problem, run_tensors(tensors), {{{4, 3}}});
    CAPTURE(testing::describe(problem));
    for (Index i = 0; i < O.size(); ++i) REQUIRE(std::abs(tensors.o[i] - O[i]) <= 1e-5f);
    for (Index i = 0; i < lse.size(); ++i)
      REQUIRE((tensors.lse[i] == lse[i] || std::abs(tensors.lse[i] - lse[i]) <= 1e-5f));
  }
}
