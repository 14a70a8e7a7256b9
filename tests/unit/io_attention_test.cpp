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

TEST_CASE("fp64 is refused by name") {
  flashbook_problem p = dense_problem(1, 1, 1, 2, 2, 2, 2);
  p.dtype = FLASHBOOK_FP64;
  const AttentionProblem problem(p);
  CHECK_FALSE(io::Blocked("io.fa2").supports_forward(problem));
  CHECK(io::Standard().supports_backward(problem).reason().find("fp64") != std::string::npos);
}
