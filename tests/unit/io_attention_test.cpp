// The blocked and the materialised algorithms against the oracle, over the whole contract. (The
// gates proper are in tests/conformance; here the bounds are coarse and the problems many.)
#include <doctest/doctest.h>
#include <omp.h>

#include "cpu_reference/standard.hpp"
#include "io_runs.hpp"

using namespace flashbook;
using flashbook::testing::chance;
using flashbook::testing::compute;
using flashbook::testing::describe;
using flashbook::testing::difference;
using flashbook::testing::pick;
using flashbook::testing::Random;
using flashbook::testing::random_problem;
using flashbook::testing::random_schedule;
using flashbook::testing::same_bits;
using flashbook::testing::Storage;
using flashbook::testing::Tensors;

TEST_CASE("every implementation agrees with the oracle on random problems of the contract") {
  Random random(31);
  for (int n = 0; n < 1500; ++n) {
    const AttentionProblem problem = random_problem(random);
    Tensors want(problem, random);
    Tensors got = want;
    CAPTURE(n);
    CAPTURE(describe(problem));
    compute(Oracle(), problem, want);
    const auto check = [&](const Implementation& implementation) {
      const std::string name = implementation.name();
      CAPTURE(name);
      const bool gradients = compute(implementation, problem, got);
      CHECK(difference(problem, got, want, gradients) == "");
    };
    check(io::Standard());
    for (const io::BlockedPair& pair : io::blocked_pairs())
      check(io::Blocked(pair.name, random_schedule(random, pair, 12)));
  }
}

TEST_CASE("results said to repeat do so bit for bit, whatever the number of threads") {
  Random random(5);
  const int threads = omp_get_max_threads();
  for (int n = 0; n < 12; ++n) {
    const AttentionProblem problem = random_problem(random, 150);
    Tensors first(problem, random);
    Tensors again = first;
    for (const io::BlockedPair& pair : io::blocked_pairs())
      for (const io::Schedule& schedule : {random_schedule(random, pair, 24), pair.schedule}) {
        const io::Blocked implementation(pair.name, schedule);
        if (!implementation.properties().deterministic_dq) continue;  // io_backward_test.cpp
        const std::string name = implementation.name();
        CAPTURE(name);
        const bool gradients = compute(implementation, problem, first);
        for (const int count : {1, 3}) {
          omp_set_num_threads(count);
          compute(implementation, problem, again);
          CHECK(same_bits(problem, first, again, gradients));
        }
        omp_set_num_threads(threads);
      }
  }
}

TEST_CASE("one visible key gives exactly its V, even at logits of 1e10") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 5, 1, 4, 4));
  Random random(9);
  Tensors t(problem, random);
  t.q.fill(1e5);
  t.k.fill(5e4);
  io::Blocked("io.fa2").forward(problem, t.inputs(), t.outputs());
  for (Index i = 0; i < 5; ++i)
    for (Index c = 0; c < 4; ++c) CHECK(t.o[i * 4 + c] == t.v[c]);
}

TEST_CASE("rows that see nothing contribute exactly nothing, whatever dO and storage hold") {
  // Top-left causal, N_k < N_q, a window of no width: rows 0 … 2 of 9 see a key, the rest none.
  flashbook_problem p = dense_problem(1, 1, 1, 9, 3, 4, 4);
  p.alignment = FLASHBOOK_TOP_LEFT;
  p.window_left = p.window_right = 0;
  const AttentionProblem problem(p);
  Random random(11);
  Tensors clean(problem, random);
  Tensors poisoned = clean;
  for (Index i = 3 * 4; i < 9 * 4; ++i) {
    poisoned.q.set(i, std::numeric_limits<float>::quiet_NaN());
    poisoned.d_o.set(i, std::numeric_limits<float>::infinity());
  }
  for (const io::Blocks blocks : {io::Blocks{9, 3}, io::Blocks{2, 2}}) {
    compute(io::Blocked("io.fa2", {blocks}), problem, clean);
    compute(io::Blocked("io.fa2", {blocks}), problem, poisoned);
    CHECK(same_bits(problem, clean, poisoned, true));
    for (Index i = 3 * 4; i < 9 * 4; ++i) CHECK(clean.o[i] == 0);
    for (Index i = 3; i < 9; ++i) CHECK(clean.lse[i] == -std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("NaN and +∞ in what a row sees reach the row, and no row of another tile") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 8, 8, 4, 4));
  Random random(13);
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), 1e38f}) {
    Tensors t(problem, random);
    for (Index c = 0; c < 4; ++c) t.q.set(c, poison);  // row 0: its scores overflow or are NaN
    for (Index i = 0; i < t.k.size(); ++i) t.k.set(i, 1e3f);
    io::Blocked("io.fa2", {{4, 4}}).forward(problem, t.inputs(), t.outputs());
    for (Index c = 0; c < 4; ++c) CHECK(std::isnan(t.o[c]));
    CHECK(std::isnan(t.lse[0]));
    for (Index i = 4; i < t.o.size(); ++i) CHECK(std::isfinite(t.o[i]));
  }
}

TEST_CASE("scores that overflow to −∞ hide their keys: a row of nothing else is empty") {
  const Index n_k = 40, d = 4;
  const AttentionProblem problem(dense_problem(1, 1, 1, 2, n_k, d, d));
  Random random(17);
  Tensors t(problem, random);
  for (Index c = 0; c < d; ++c) {
    t.q.set(c, -1e30f);
    t.q.set(d + c, 1);
  }
  t.k.fill(1e30f);
  t.k.set(0, 0);  // d − 1 of its channels still overflow
  compute(io::Blocked("io.fa2", {{2, n_k}}), problem, t);
  CHECK(t.lse[0] == -std::numeric_limits<float>::infinity());
  for (Index c = 0; c < d; ++c) CHECK(t.o[c] == 0);
  for (Index c = 0; c < d; ++c) CHECK(std::isfinite(t.o[d + c]));
}

TEST_CASE("a score of −∞ by arithmetic contributes exactly nothing, whatever dO and V hold") {
  // Row 0 overflows to −∞ with every key but the last, and so does row 1 with every key: nobody
  // masks. Row 1 is empty.
  const Index n_q = 3, n_k = 6, d = 4;
  const AttentionProblem problem(dense_problem(1, 1, 1, n_q, n_k, d, d));
  Random random(19);
  Tensors clean(problem, random);
  clean.q.fill(0);
  clean.k.fill(0);
  clean.q.set(0 * d, -1e30f);
  clean.q.set(1 * d, -1e30f);
  clean.q.set(1 * d + 1, -1e30f);
  for (Index j = 0; j < n_k; ++j) clean.k.set(j * d + (j + 1 < n_k ? 0 : 1), 1e30f);
  Tensors poisoned = clean;
  for (Index c = 0; c < d; ++c) poisoned.d_o.set(1 * d + c, std::nanf(""));  // of the empty row
  for (const io::Blocks blocks : {io::Blocks{3, 6}, io::Blocks{1, 1}, io::Blocks{2, 4}}) {
    CAPTURE(blocks.rows);
    compute(io::Blocked("io.fa2", {blocks}), problem, clean);
    compute(io::Blocked("io.fa2", {blocks}), problem, poisoned);
    CHECK(clean.lse[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isfinite(clean.lse[0]));
    CHECK(same_bits(problem, clean, poisoned, true));
  }
  compute(io::Standard(), problem, clean);
  compute(io::Standard(), problem, poisoned);
  CHECK(same_bits(problem, clean, poisoned, true));
}

TEST_CASE("V of a key that all rows hide by arithmetic does not matter") {
  const Index n = 4, d = 2;
  const AttentionProblem problem(dense_problem(1, 1, 1, n, n, d, d));
  Random random(23);
  Tensors clean(problem, random);
  clean.q.fill(-1e30f);
  clean.k.fill(0);
  for (Index c = 0; c < d; ++c) clean.k.set(1 * d + c, 1e30f);
  Tensors poisoned = clean;
  for (Index c = 0; c < d; ++c) poisoned.v.set(1 * d + c, std::nanf(""));
  const auto check = [&](const Implementation& implementation) {
    compute(implementation, problem, clean);
    compute(implementation, problem, poisoned);
    CHECK(std::isfinite(clean.o[0]));
    CHECK(same_bits(problem, clean, poisoned, true));
  };
  check(io::Blocked("io.fa2", {{4, 4}}));
  check(io::Blocked("io.fa2", {{2, 1}}));
  check(io::Standard());
}

TEST_CASE("NaN in V or dO reaches the rows and keys that see it, also where P underflows to 0") {
  // Both rows see both keys; row 0 gives key 1 a weight of e^(−400), which no float holds.
  for (const DType dtype : {DType::fp32, DType::fp16}) {
    flashbook_problem p = dense_problem(1, 1, 1, 2, 2, 1, 1);
    p.dtype = static_cast<std::int32_t>(dtype);
    p.scale = 1;
    for (const double cap : {0., 500.}) {
      p.softcap = cap;
      const AttentionProblem problem(p);
      Random random(29);
      const auto with_poison = [&](Storage Tensors::*tensor, Index element,
                                   const Implementation& implementation) {
        Tensors t(problem, random);
        t.q.set(0, 20);
        t.q.set(1, 0);
        t.k.set(0, 20);
        t.k.set(1, 0);
        (t.*tensor).set(element, std::nanf(""));
        compute(implementation, problem, t);
        return t;
      };
      const io::Blocked whole("io.fa2"), tiles("io.fa2", {{1, 1}});
      const io::Standard standard;
      const Oracle oracle;
      for (const Implementation* each :
           std::initializer_list<const Implementation*>{&oracle, &whole, &tiles, &standard}) {
        const std::string name = each->name();
        CAPTURE(name);
        const Tensors v = with_poison(&Tensors::v, 1, *each);
        CHECK(std::isnan(v.o[0]));
        CHECK(std::isnan(v.o[1]));
        CHECK(std::isnan(v.d_q[0]));
        CHECK(std::isnan(v.d_k[0]));
        CHECK(std::isnan(v.d_k[1]));
        const Tensors d_o = with_poison(&Tensors::d_o, 0, *each);
        CHECK(std::isnan(d_o.d_v[0]));
        CHECK(std::isnan(d_o.d_v[1]));
        CHECK(std::isnan(d_o.d_k[1]));
        CHECK(std::isfinite(d_o.d_q[1]));
      }
    }
  }
}

TEST_CASE("an infinite K that a soft-cap makes harmless to S reaches dQ, whatever the sign of dS") {
  // Row 0 scores +cap·tanh with key 0 and −cap with key 1, whose P, and so dS, underflows to ±0.
  flashbook_problem p = dense_problem(1, 1, 1, 1, 2, 1, 1);
  p.softcap = 500;
  p.scale = 1;
  const AttentionProblem problem(p);
  Random random(31);
  for (const float value : {-3.f, 3.f}) {  // dS = P (dP − D) is −0 or +0
    Tensors t(problem, random);
    t.q.set(0, 20);
    t.k.set(0, 20);
    t.k.set(1, -std::numeric_limits<float>::infinity());
    t.v.set(0, 0);
    t.v.set(1, value);
    t.d_o.set(0, 1);
    const auto check = [&](const Implementation& implementation) {
      const std::string name = implementation.name();
      CAPTURE(name);
      compute(implementation, problem, t);
      CHECK(t.o[0] == 0);
      CHECK(std::isnan(t.d_q[0]));
    };
    check(Oracle());
    check(io::Blocked("io.fa2"));
    check(io::Standard());
  }
}

TEST_CASE("fp64 is refused by name") {
  flashbook_problem p = dense_problem(1, 1, 1, 2, 2, 2, 2);
  p.dtype = FLASHBOOK_FP64;
  const AttentionProblem problem(p);
  CHECK_FALSE(io::Blocked("io.fa2").supports_forward(problem));
  CHECK(io::Standard().supports_backward(problem).reason().find("fp64") != std::string::npos);
}
