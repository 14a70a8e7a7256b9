// The blocked and the materialised algorithms against the oracle, over the whole contract. (The
// gates proper are in tests/conformance; here the bounds are coarse and the problems many.)
#include <doctest/doctest.h>
#include <omp.h>

#include "cpu_reference/standard.hpp"
#include "random_problem.hpp"
#include "sim/io/implementations.hpp"

using namespace flashbook;
using flashbook::testing::chance;
using flashbook::testing::describe;
using flashbook::testing::pick;
using flashbook::testing::Random;
using flashbook::testing::random_problem;
using flashbook::testing::Storage;
using flashbook::testing::Tensors;

namespace {

void compute(const Implementation& implementation, const AttentionProblem& problem, Tensors& t) {
  t.clear_outputs();
  implementation.forward(problem, t.inputs(), t.outputs());
  implementation.backward(problem, t.inputs(), t.outputs(), t.cotangents(), t.gradients());
}

std::vector<std::pair<const char*, const Storage*>> outputs_of(const AttentionProblem& p,
                                                               const Tensors& t) {
  std::vector<std::pair<const char*, const Storage*>> all = {
      {"O", &t.o}, {"LSE", &t.lse}, {"dQ", &t.d_q}, {"dK", &t.d_k}, {"dV", &t.d_v}};
  if (p->has_bias) all.emplace_back("dBias", &t.d_bias);
  if (p->has_sinks) all.emplace_back("dSinks", &t.d_sinks);
  return all;
}

/// Unit roundoff, times what a few dozen accumulated terms of order one can make of it.
double bound_of(DType dtype) {
  return dtype == DType::fp32 ? 2e-5 : dtype == DType::fp16 ? 1e-2 : 8e-2;
}

void check_close(const AttentionProblem& p, const Tensors& got, const Tensors& want) {
  const auto want_all = outputs_of(p, want);
  std::size_t which = 0;
  for (const auto& output : outputs_of(p, got)) {
    const Storage& values = *output.second;
    const Storage& reference = *want_all[which++].second;
    double largest = 1;
    for (Index i = 0; i < reference.size(); ++i)
      if (std::isfinite(reference[i])) largest = std::max<double>(largest, std::abs(reference[i]));
    for (Index i = 0; i < values.size(); ++i) {
      if (values[i] == reference[i]) continue;
      const bool close = std::abs(values[i] - reference[i]) <= bound_of(p.dtype()) * largest;
      if (close) continue;
      CAPTURE(output.first);
      CAPTURE(i);
      CAPTURE(values[i]);
      CAPTURE(reference[i]);
      CHECK(close);
      return;
    }
  }
}

bool same_bits(const AttentionProblem& p, const Tensors& a, const Tensors& b) {
  const auto other = outputs_of(p, b);
  std::size_t which = 0;
  for (const auto& [tensor, values] : outputs_of(p, a))
    if (values->bytes() != other[which++].second->bytes()) return false;
  return true;
}

}  // namespace

TEST_CASE("io.fa2 and io.standard agree with the oracle on random problems of the contract") {
  Random random(31);
  for (int n = 0; n < 1500; ++n) {
    const AttentionProblem problem = random_problem(random);
    Tensors want(problem, random);
    Tensors got = want;
    const io::Blocks blocks = {pick(random, 1, 12), pick(random, 1, 12)};
    CAPTURE(n);
    CAPTURE(describe(problem));
    CAPTURE(blocks.rows);
    CAPTURE(blocks.columns);
    compute(Oracle(), problem, want);
    {
      CAPTURE("io.fa2");
      compute(io::Fa2(blocks), problem, got);
      check_close(problem, got, want);
    }
    {
      CAPTURE("io.standard");
      compute(io::Standard(), problem, got);
      check_close(problem, got, want);
    }
  }
}

TEST_CASE("every result repeats bit for bit, whatever the number of threads") {
  Random random(5);
  const int threads = omp_get_max_threads();
  for (int n = 0; n < 12; ++n) {
    const AttentionProblem problem = random_problem(random, 150);
    Tensors first(problem, random);
    Tensors again = first;
    for (const io::Blocks blocks : {io::Blocks{16, 24}, io::default_blocks}) {
      compute(io::Fa2(blocks), problem, first);
      for (const int count : {1, 3}) {
        omp_set_num_threads(count);
        compute(io::Fa2(blocks), problem, again);
        CHECK(same_bits(problem, first, again));
      }
      omp_set_num_threads(threads);
    }
  }
}

TEST_CASE("a packed member's O and LSE do not depend on its neighbours, bit for bit") {
  const Index n = 37, d = 8, before = 11;
  flashbook_problem alone = dense_problem(1, 1, 1, n, n, d, d);
  alone.causal = 1;
  const AttentionProblem single(alone);
  Random random(3);
  Tensors t(single, random);
  io::Fa2({16, 16}).forward(single, t.inputs(), t.outputs());

  flashbook_problem both = dense_problem(1, 1, 1, before + n, before + n, d, d);
  both.causal = 1;
  both.packed = 1;
  both.members = 2;
  const AttentionProblem packed(both, {0, before, before + n}, {0, before, before + n});
  Tensors u(packed, random);
  for (Index i = 0; i < n * d; ++i) {
    u.q.set(before * d + i, t.q[i]);
    u.k.set(before * d + i, t.k[i]);
    u.v.set(before * d + i, t.v[i]);
  }
  io::Fa2({16, 16}).forward(packed, u.inputs(), u.outputs());
  for (Index i = 0; i < n * d; ++i) REQUIRE(u.o[before * d + i] == t.o[i]);
  for (Index i = 0; i < n; ++i) REQUIRE(u.lse[before + i] == t.lse[i]);
}

TEST_CASE("one visible key gives exactly its V, even at logits of 1e10") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 5, 1, 4, 4));
  Random random(9);
  Tensors t(problem, random);
  t.q.fill(1e5);
  t.k.fill(5e4);
  io::Fa2().forward(problem, t.inputs(), t.outputs());
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
    compute(io::Fa2(blocks), problem, clean);
    compute(io::Fa2(blocks), problem, poisoned);
    CHECK(same_bits(problem, clean, poisoned));
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
    io::Fa2({4, 4}).forward(problem, t.inputs(), t.outputs());
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
  compute(io::Fa2({2, n_k}), problem, t);
  CHECK(t.lse[0] == -std::numeric_limits<float>::infinity());
  for (Index c = 0; c < d; ++c) CHECK(t.o[c] == 0);
  for (Index c = 0; c < d; ++c) CHECK(std::isfinite(t.o[d + c]));
}

TEST_CASE("fp64 is refused by name") {
  flashbook_problem p = dense_problem(1, 1, 1, 2, 2, 2, 2);
  p.dtype = FLASHBOOK_FP64;
  const AttentionProblem problem(p);
  CHECK_FALSE(io::Fa2().supports_forward(problem));
  CHECK(io::Standard().supports_backward(problem).reason().find("fp64") != std::string::npos);
}
