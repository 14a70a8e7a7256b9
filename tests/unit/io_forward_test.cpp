// What the blocked forward passes share, and where they differ: FA1's two, FA2's and split keys.
#include <doctest/doctest.h>

#include "io_runs.hpp"

using namespace flashbook;
using namespace flashbook::io;
using flashbook::testing::describe;
using flashbook::testing::Random;
using flashbook::testing::random_schedule;
using flashbook::testing::run_tensors;
using flashbook::testing::Storage;
using flashbook::testing::Tensors;

namespace {

/// Calls check(algorithm) for every forward pass in blocks.
template <class Check>
void for_blocked_forwards(const Check& check) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.backward || !algorithm.takes.blocks) continue;
    CAPTURE(std::string(algorithm.name));
    check(algorithm);
  }
}

/// Rows first … first + n − 1 of a tensor [rows, width] are the first n of the other, bit for bit.
void check_same_rows(const Storage& part, Index first, const Storage& whole, Index n, Index width) {
  for (Index i = 0; i < n * width; ++i) REQUIRE(part[first * width + i] == whole[i]);
}

void copy_rows(Storage& to, Index first, const Storage& from, Index n, Index width) {
  for (Index i = 0; i < n * width; ++i) to.set(first * width + i, from[i]);
}

const float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE(
    "a member's O and LSE do not depend on its neighbours, packed or in a batch, bit for bit") {
  const Index n = 37, d = 8;
  flashbook_problem alone = dense_problem(1, 1, 1, n, n, d, d);
  alone.causal = 1;
  Random random(3);
  Tensors t(AttentionProblem(alone), random);

  for (const bool is_packed : {true, false}) {
    CAPTURE(is_packed);
    const Index before = is_packed ? 11 : n;
    flashbook_problem both = dense_problem(2, 1, 1, n, n, d, d);
    if (is_packed) both = dense_problem(1, 1, 1, before + n, before + n, d, d);
    both.causal = 1;
    both.packed = is_packed;
    both.members = 2;
    const std::vector<Index> offsets = {0, before, before + n};
    const AttentionProblem pair =
        is_packed ? AttentionProblem(both, offsets, offsets) : AttentionProblem(both);
    Tensors u(pair, random);
    copy_rows(u.q, before, t.q, n, d);
    copy_rows(u.k, before, t.k, n, d);
    copy_rows(u.v, before, t.v, n, d);
    for_blocked_forwards([&](const Algorithm& algorithm) {
      RunOptions options = {{{16, 12}, algorithm.takes.splits ? 2 : 1}};
      run(algorithm, AttentionProblem(alone), run_tensors(t), options);
      run(algorithm, pair, run_tensors(u), options);
      check_same_rows(u.o, before, t.o, n, d);
      if (algorithm.writes_lse) check_same_rows(u.lse, before, t.lse, n, 1);
    });
  }
}

TEST_CASE("V that one row tile must not see is still there for the next") {
  // Causal: of the one key tile, rows 0 and 1 see keys 0 and 1; row 3 alone sees key 3.
  flashbook_problem p = dense_problem(1, 1, 1, 4, 4, 2, 2);
  p.causal = 1;
  const AttentionProblem problem(p);
  for_blocked_forwards([&](const Algorithm& algorithm) {
    for (const float poison : {std::nanf(""), infinity}) {
      Random random(2);
      Tensors t(problem, random);
      t.v.set(3 * 2, poison);
      run(algorithm, problem, run_tensors(t), {{{2, 4}}});
      for (Index i = 0; i < 2 * 2; ++i) CHECK(std::isfinite(t.o[i]));
      CHECK_FALSE(std::isfinite(t.o[3 * 2]));
      CHECK(std::isfinite(t.o[3 * 2 + 1]));
    }
  });
}

TEST_CASE("what came before a maximum that rises by 200 weighs nothing") {
  flashbook_problem p = dense_problem(1, 1, 1, 1, 2, 1, 1);
  p.scale = 1;
  const AttentionProblem problem(p);
  Random random(9);
  Tensors t(problem, random);
  t.q.set(0, 1);
  t.k.set(0, 0);
  t.k.set(1, 200);
  for (const BlockedPair& pair : blocked_pairs()) {
    CAPTURE(pair.name);
    testing::compute(Blocked(pair.name, {{1, 1}}), problem, t);
    CHECK(t.o[0] == t.v[1]);
  }
}

TEST_CASE("every order of tiles gives the LSE of the same rows: FA1 keeps what Algorithm 2 drops") {
  Random random(8);
  const AttentionProblem problem(dense_problem(2, 4, 2, 9, 13, 5, 3));
  Tensors with(problem, random);
  Tensors without = with;
  run(find_algorithm("fa1_forward_lse"), problem, run_tensors(with), {{{4, 3}}});
  run(find_algorithm("fa1_forward"), problem, run_tensors(without), {{{4, 3}}});
  CHECK(with.o.bytes() == without.o.bytes());
  CHECK(std::isfinite(with.lse[0]));
  CHECK(std::isnan(without.lse[0]));
}

TEST_CASE("initialising is the same work, counted or not") {
  flashbook_problem p = dense_problem(1, 2, 1, 9, 3, 4, 4);
  p.causal = p.has_sinks = 1;
  const AttentionProblem problem(p);
  Random random(12);
  Tensors counted(problem, random);
  Tensors uncounted = counted;
  const Algorithm& fa1 = find_algorithm("fa1_forward_lse");
  run(fa1, problem, run_tensors(counted), {{{2, 2}, 1, true}});
  run(fa1, problem, run_tensors(uncounted), {{{2, 2}, 1, false}});
  CHECK(counted.o.bytes() == uncounted.o.bytes());
  CHECK(counted.lse.bytes() == uncounted.lse.bytes());
}

TEST_CASE("more splits than key tiles: empty runs add nothing, and the sink enters once") {
  flashbook_problem p = dense_problem(1, 1, 1, 3, 5, 4, 4);
  p.has_sinks = 1;
  const AttentionProblem problem(p);
  const Algorithm& split = find_algorithm("split_kv_decode");
  Random random(14);
  Tensors one(problem, random);
  Tensors many = one;
  one.sinks.set(0, 2);
  many.sinks.set(0, 2);
  for (const Index columns : {1, 2, 5}) {
    const Index tiles = (5 + columns - 1) / columns;
    CAPTURE(columns);
    run(split, problem, run_tensors(one), {{{2, columns}, tiles}});
    for (const Index splits : {tiles + 1, Index{64}}) {
      run(split, problem, run_tensors(many), {{{2, columns}, splits}});
      CHECK(many.o.bytes() == one.o.bytes());
      CHECK(many.lse.bytes() == one.lse.bytes());
    }
  }
}

TEST_CASE("rows that no key tile visits are written, and counted as the algorithm says") {
  // Causal, bottom-right, 9 queries on 3 keys: rows 6, 7, 8 see 1, 2, 3 keys and the first six
  // none. Tiles of 2 x 2: key tile 0 is visited by rows 6 to 8, key tile 1 by row 8: R = 4, U = 6.
  flashbook_problem p = dense_problem(1, 1, 1, 9, 3, 4, 5);
  p.causal = 1;
  const AttentionProblem problem(p);
  const Index d = 4, d_v = 5, R = 4, U = 6, N = 9;
  const auto run_it = [&](const char* name, bool includes_init) {
    Random random(16);
    Tensors t(problem, random);
    const Report report =
        run(find_algorithm(name), problem, run_tensors(t), {{{2, 2}, 1, includes_init}});
    for (Index i = 0; i < U * d_v; ++i) CHECK(t.o[i] == 0);
    for (Index i = U * d_v; i < N * d_v; ++i) CHECK(std::isfinite(t.o[i]));
    for (Index i = 0; i < U; ++i) CHECK(t.lse[i] == -infinity);
    CHECK(report.visited_tiles == 3);
    return report;
  };
  const Index read = d * R + 3 * (d + d_v);  // Q; K and V
  const Report literal = run_it("fa1_forward_lse", false);
  CHECK(literal.matrix_reads() == read + d_v * R);
  CHECK(literal.matrix_writes() == d_v * R);
  CHECK(literal.vector_reads() == 2 * R);
  CHECK(literal.vector_writes() == 2 * R + (N - U));
  const Report with_init = run_it("fa1_forward_lse", true);
  CHECK(with_init.matrix_reads() == read + d_v * R);
  CHECK(with_init.matrix_writes() == d_v * R + N * d_v);
  CHECK(with_init.vector_writes() == 2 * R + N + 2 * N);
  const Report shipped = run_it("fa1_forward_shipped", false);
  CHECK(shipped.matrix_reads() == read + d_v * (R - (N - U)));
  CHECK(shipped.matrix_writes() == d_v * (R + U));
  CHECK(shipped.vector_reads() == R - (N - U));
  CHECK(shipped.vector_writes() == R + U);
}
