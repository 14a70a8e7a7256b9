// What a run counts equals the closed forms, to the element.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "cpu_reference/error.hpp"
#include "io_runs.hpp"
#include "sim/io/closed_form/visits.hpp"

using namespace flashbook;
using namespace flashbook::io;
using flashbook::testing::chance;
using flashbook::testing::pick;
using flashbook::testing::Random;
using flashbook::testing::random_problem;
using flashbook::testing::random_schedule;
using flashbook::testing::run_random;
using flashbook::testing::run_tensors;
using flashbook::testing::square;

namespace {

void check_equal(const Report& executed, const Report& formula) {
  CHECK(executed.executed);
  CHECK_FALSE(formula.executed);
  CHECK(executed.algorithm == formula.algorithm);
  CHECK(executed.query_heads == formula.query_heads);
  CHECK(executed.flops_nominal == formula.flops_nominal);
  CHECK(executed.matrix_reads() == formula.matrix_reads());
  CHECK(executed.matrix_writes() == formula.matrix_writes());
  CHECK(executed.vector_reads() == formula.vector_reads());
  CHECK(executed.vector_writes() == formula.vector_writes());
  CHECK(executed.atomic_updates() == formula.atomic_updates());
  CHECK(executed.bytes_read() == formula.bytes_read());
  CHECK(executed.bytes_written() == formula.bytes_written());
  CHECK(executed.visited_tiles == formula.visited_tiles);
  CHECK(executed.flops_executed == formula.flops_executed);
  CHECK(executed.peak_sram_bytes == formula.peak_sram_bytes);
  CHECK(executed.splits == formula.splits);
  CHECK(executed.includes_init == formula.includes_init);
  REQUIRE(executed.tensors.size() == formula.tensors.size());
  for (std::size_t i = 0; i < executed.tensors.size(); ++i) {
    CAPTURE(executed.tensors[i].name);
    CHECK(executed.tensors[i] == formula.tensors[i]);
  }
}

/// Every pair asked, tile by tile.
Visits visits_by_brute_force(const AttentionProblem& problem, const Blocks& blocks) {
  const Member m = problem.member(0);
  Visits v;
  std::map<Index, Index> longest_of_row, longest_of_key;  // by first row, by first key
  for (Index i = 0; i < m.n_q; i += blocks.rows) longest_of_row[i] = 0;
  for (Index j = 0; j < m.n_k; j += blocks.columns) longest_of_key[j] = 0;
  const auto rows_of = [&](Index i) { return std::min(blocks.rows, m.n_q - i); };
  const auto keys_of = [&](Index j) { return std::min(blocks.columns, m.n_k - j); };
  for (auto& row : longest_of_row)
    for (auto& key : longest_of_key) {
      const Index i = row.first, j = key.first, rows = rows_of(i), keys = keys_of(j);
      bool seen = false;
      for (Index x = 0; x < rows; ++x)
        for (Index y = 0; y < keys; ++y) seen = seen || problem.visible(m, i + x, j + y);
      if (!seen) continue;
      v.rows += rows;
      v.columns += keys;
      v.tiles += 1;
      v.pairs += rows * keys;
      row.second = std::max(row.second, keys);
      key.second = std::max(key.second, rows);
    }
  for (const auto& row : longest_of_row) {
    v.row_tiles.insert({rows_of(row.first), row.second});
    if (row.second > 0) v.rows_once += rows_of(row.first);
  }
  for (const auto& key : longest_of_key) v.key_tiles.insert({keys_of(key.first), key.second});
  return v;
}

using Shapes = std::set<std::pair<Index, Index>>;

/// Whether the shapes are among those wanted, and none wanted is larger than all of them.
bool same_largest(const Shapes& got, const Shapes& want) {
  return std::includes(want.begin(), want.end(), got.begin(), got.end()) &&
         std::all_of(want.begin(), want.end(), [&](const auto& shape) {
           return std::any_of(got.begin(), got.end(), [&](const auto& larger) {
             return larger.first >= shape.first && larger.second >= shape.second;
           });
         });
}

void check_visits(const AttentionProblem& problem, const Blocks& blocks) {
  const Visits got = visits_of(problem, problem.member(0), blocks);
  const Visits want = visits_by_brute_force(problem, blocks);
  CAPTURE(blocks.rows);
  CAPTURE(blocks.columns);
  REQUIRE(got.rows == want.rows);
  REQUIRE(got.columns == want.columns);
  REQUIRE(got.tiles == want.tiles);
  REQUIRE(got.pairs == want.pairs);
  REQUIRE(got.rows_once == want.rows_once);
  REQUIRE(same_largest(got.row_tiles, want.row_tiles));
  REQUIRE(same_largest(got.key_tiles, want.key_tiles));
  if (blocks == Blocks{1, 1})
    REQUIRE(visible_pairs(problem, problem.member(0)) == static_cast<double>(want.pairs));
}

}  // namespace

TEST_CASE("an algorithm writes the LSE or does not, whatever it is given; else it refuses") {
  Random random(41);
  for (int n = 0; n < 60; ++n) {
    const AttentionProblem problem = random_problem(random);
    CAPTURE(testing::describe(problem));
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(std::string(algorithm.name));
      if (algorithm.backward) continue;
      testing::Tensors tensors(problem, random);
      RunTensors given = run_tensors(tensors);
      const Report with_lse = run(algorithm, problem, given);
      bool untouched = true;
      for (Index i = 0; i < tensors.lse.size(); ++i)
        untouched = untouched && std::isnan(tensors.lse[i]);
      if (problem.lse_size() > 0) CHECK(untouched == !algorithm.writes_lse);

      tensors.clear_outputs();
      given.outputs.lse = nullptr;
      if (algorithm.writes_lse && problem.lse_size() > 0) {
        CHECK_THROWS_WITH_AS(run(algorithm, problem, given), doctest::Contains("outputs.lse"),
                             InputError);
        continue;
      }
      check_equal(run(algorithm, problem, given), closed_form(algorithm, problem));
      check_equal(with_lse, closed_form(algorithm, problem));
    }
  }
}

TEST_CASE("slack rows of O are written with and without an LSE") {
  flashbook_problem p = dense_problem(1, 1, 1, 5, 5, 2, 2);
  p.packed = p.members = 1;
  const AttentionProblem problem(p, {0, 3}, {0, 5});  // two slack queries
  Random random(43);
  testing::Tensors tensors(problem, random);
  run(find_algorithm("standard_forward"), problem,
      {tensors.inputs(), {tensors.o.data(), nullptr}, {}, {}});
  for (Index i = 0; i < 3 * 2; ++i) CHECK(std::isfinite(tensors.o[i]));
  for (Index i = 3 * 2; i < 5 * 2; ++i) CHECK(tensors.o[i] == 0);
}

TEST_CASE("visited tiles by formula are those that hold a visible pair") {
  const Index sides[] = {unbounded, -3, 0, 2};
  const Blocks shapes[] = {{1, 1}, {2, 3}, {3, 2}, {8, 5}};
  for (Index n_q = 0; n_q <= 8; ++n_q)
    for (Index n_k = 0; n_k <= 8; ++n_k)
      for (const int options : {0, 1, 2, 3})
        for (const Index left : sides)
          for (const Index right : sides) {
            flashbook_problem p = dense_problem(1, 1, 1, n_q, n_k, 1, 1);
            p.causal = options & 1;
            p.alignment = (options & 2) != 0 ? FLASHBOOK_TOP_LEFT : FLASHBOOK_BOTTOM_RIGHT;
            p.window_left = left;
            p.window_right = right;
            const AttentionProblem problem(p);
            CAPTURE(testing::describe(problem));
            CAPTURE(options);
            for (const Blocks& blocks : shapes) check_visits(problem, blocks);
          }
}

TEST_CASE("and on larger problems, with bands anywhere and tiles of any shape") {
  Random random(61);
  const Index sides[] = {unbounded, (Index{1} << 60) - 1, 1 - (Index{1} << 60)};
  const auto side = [&] {
    return chance(random, .3) ? sides[pick(random, 0, 2)] : pick(random, -90, 90);
  };
  for (int n = 0; n < 2000; ++n) {
    flashbook_problem p = dense_problem(1, 1, 1, pick(random, 1, 90), pick(random, 1, 90), 1, 1);
    p.causal = chance(random, .3);
    p.alignment = chance(random, .5) ? FLASHBOOK_TOP_LEFT : FLASHBOOK_BOTTOM_RIGHT;
    p.window_left = side();
    p.window_right = side();
    const AttentionProblem problem(p);
    CAPTURE(testing::describe(problem));
    for (const Blocks& blocks : {Blocks{1, 1}, Blocks{pick(random, 1, 30), pick(random, 1, 30)}})
      check_visits(problem, blocks);
  }
}

TEST_CASE("the worked example: causal, N = 10, B_r = 3, B_c = 4 gives V = 9, R = 21, C = 32") {
  const Index d = 5;
  const Blocks blocks = {3, 4};
  RunOptions options;
  options.blocks = blocks;
  const AttentionProblem problem = square(10, d, true);
  const Report forward = run_random(find_algorithm("fa2_forward"), problem, options);
  CHECK(forward.visited_tiles == 9);
  CHECK(forward.matrix_reads() == 10 * d + 2 * d * 32);
  const Report fa1 = run_random(find_algorithm("fa1_forward"), problem, options);
  CHECK(fa1.visited_tiles == 9);
  CHECK(fa1.matrix_reads() == 2 * 10 * d + 2 * d * 21);
  const Report shipped = run_random(find_algorithm("fa1_forward_shipped"), problem, options);
  CHECK(shipped.matrix_reads() == 2 * 10 * d + d * 21 + d * (21 - 10));
  const Report backward = run_random(find_algorithm("three_kernel_backward"), problem, options);
  CHECK(backward.visited_tiles == 2 * 9);
  CHECK(backward.matrix_reads() == 6 * 10 * d + 2 * d * 21 + 2 * d * 32);
  CHECK(backward.vector_reads() == 2 * 21 + 2 * 10);
}

TEST_CASE("the rows of the traffic table, dense and causal") {
  const Index N = 150, d = 8, B_r = 48, B_c = 32;
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Index T_r = (N + B_r - 1) / B_r, T_c = (N + B_c - 1) / B_c;
    Index R = N * T_c, C = N * T_r, V = T_r * T_c;
    if (causal) {
      R = C = V = 0;
      for (Index j = 0; j < T_c; ++j) R += N - B_r * (j * B_c / B_r);
      for (Index i = 0; i < T_r; ++i) {
        const Index n_i = (std::min((i + 1) * B_r, N) + B_c - 1) / B_c;
        C += std::min(n_i * B_c, N);
        V += n_i;
      }
    }
    const AttentionProblem problem = square(N, d, causal);
    const auto check = [&](const char* name, Index reads, Index writes, Index vector_reads,
                           Index vector_writes, Index tiles, const Schedule& schedule) {
      CAPTURE(name);
      const Report report = run_random(find_algorithm(name), problem, {schedule});
      CHECK(report.matrix_reads() == reads);
      CHECK(report.matrix_writes() == writes);
      CHECK(report.vector_reads() == vector_reads);
      CHECK(report.vector_writes() == vector_writes);
      CHECK(report.visited_tiles == tiles);
    };
    const Index Nd = N * d, dR = d * R, N2 = N * N, S = 3;
    const Schedule plain = {{B_r, B_c}}, with_init = {{B_r, B_c}, 1, true}, split = {{B_r, B_c}, S};
    check("standard_forward", 3 * Nd + 2 * N2, Nd + 2 * N2, 0, 0, 0, plain);
    check("standard_forward_lse", 3 * Nd + 2 * N2, Nd + 2 * N2, 0, N, 0, plain);
    check("standard_backward", 5 * Nd + 5 * N2, 3 * Nd + 2 * N2, 0, 0, 0, plain);
    check("fa1_forward", 2 * Nd + 2 * dR, dR, 2 * R, 2 * R, V, plain);
    check("fa1_forward", 2 * Nd + 2 * dR, dR + Nd, 2 * R, 2 * R + 2 * N, V, with_init);
    check("fa1_forward_lse", 2 * Nd + 2 * dR, dR, 2 * R, 2 * R + N, V, plain);
    check("fa1_forward_shipped", 2 * Nd + dR + d * (R - N), dR, R - N, R, V, plain);
    check("fa2_forward", Nd + 2 * d * C, Nd, 0, N, V, plain);
    check("split_kv_decode", 2 * S * Nd + 2 * d * C, S * Nd + Nd, S * N, S * N + N, V, split);
    check("three_kernel_backward", 6 * Nd + 2 * dR + 2 * d * C, 3 * Nd, 2 * R + 2 * N, N, 2 * V,
          plain);
  }
}

TEST_CASE("FLOPs: 4N²d forward, 14N²d executed and 10N²d nominal backward, halved for causal") {
  const Index N = 64, d = 8, pairs = N * N;
  const AttentionProblem dense = square(N, d, false), causal = square(N, d, true);
  const Algorithm& forward = find_algorithm("fa2_forward");
  const Algorithm& backward = find_algorithm("three_kernel_backward");
  CHECK(run_random(forward, dense).flops_executed == 4 * pairs * d);
  CHECK(run_random(backward, dense).flops_executed == 14 * pairs * d);
  CHECK(closed_form(forward, dense).flops_nominal == 4 * pairs * d);
  CHECK(closed_form(backward, dense).flops_nominal == 10 * pairs * d);
  CHECK(closed_form(forward, causal).flops_nominal == 2 * pairs * d);
  CHECK(closed_form(backward, causal).flops_nominal == 5 * pairs * d);
}

TEST_CASE("executed counts equal closed forms on 10,000 random problems, for every algorithm") {
  Random random(20251);
  for (int n = 0; n < 10000; ++n) {
    const AttentionProblem problem = random_problem(random, n % 100 == 0 ? 80 : 24);
    testing::Tensors tensors(problem, random);
    CAPTURE(n);
    CAPTURE(testing::describe(problem));
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(std::string(algorithm.name));
      const Schedule schedule = random_schedule(random, algorithm, 10);
      CAPTURE(schedule.blocks.rows);
      CAPTURE(schedule.blocks.columns);
      CAPTURE(schedule.splits);
      CAPTURE(schedule.includes_init);
      check_equal(run(algorithm, problem, run_tensors(tensors), {schedule}),
                  closed_form(algorithm, problem, schedule));
    }
  }
}
