// The backward passes with the keys outside: traffic by the papers, and what repeats.
#include <doctest/doctest.h>
#include <omp.h>

#include "cpu_reference/error.hpp"
#include "io_runs.hpp"

using namespace flashbook;
using namespace flashbook::io;
using flashbook::testing::pick;
using flashbook::testing::Random;
using flashbook::testing::random_problem;
using flashbook::testing::run_tensors;
using flashbook::testing::Tensors;

namespace {

const char* const all_keys_outside[] = {"fa1_backward", "fa1_backward_shipped", "fa2_backward",
                                        "fused_backward"};

/// Forward, then backward over outputs full of NaN.
Report compute(const Algorithm& backward, const AttentionProblem& problem, Tensors& t,
               const RunOptions& options) {
  t.clear_outputs();
  run(find_algorithm("fa2_forward"), problem, run_tensors(t), {{options.blocks}});
  return run(backward, problem, run_tensors(t), options);
}

Report count(const char* name, const flashbook_problem& p, const RunOptions& options) {
  const AttentionProblem problem(p);
  Random random(7);
  Tensors tensors(problem, random);
  return compute(find_algorithm(name), problem, tensors, options);
}

struct Row {
  Index reads, writes, vector_reads, vector_writes, atomic_updates;

  bool operator==(const Row&) const = default;
};

Row row_of(const Report& r) {
  return {r.matrix_reads(), r.matrix_writes(), r.vector_reads(), r.vector_writes(),
          r.atomic_updates()};
}

Counts counts_of(const Report& report, const char* tensor) {
  for (const TensorTraffic& t : report.tensors)
    if (t.name == tensor) return t.counts;
  return {};
}

bool same_gradients(const Tensors& a, const Tensors& b) {
  return a.d_q.bytes() == b.d_q.bytes() && a.d_k.bytes() == b.d_k.bytes() &&
         a.d_v.bytes() == b.d_v.bytes() && a.d_bias.bytes() == b.d_bias.bytes() &&
         a.d_sinks.bytes() == b.d_sinks.bytes();
}

}  // namespace

TEST_CASE("the rows of the traffic table, ragged, dense and causal") {
  const Index N = 150, d = 8, B_r = 48, B_c = 32;
  const Index T_r = (N + B_r - 1) / B_r, T_c = (N + B_c - 1) / B_c;
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    Index R = N * T_c, V = T_r * T_c;
    if (causal) {
      R = V = 0;
      for (Index j = 0; j < T_c; ++j) {
        R += N - B_r * (j * B_c / B_r);
        V += T_r - j * B_c / B_r;
      }
    }
    flashbook_problem p = dense_problem(1, 1, 1, N, N, d, d);
    p.causal = causal;
    const auto check = [&](const char* name, const RunOptions& options, const Row& row) {
      CAPTURE(name);
      const Report report = count(name, p, options);
      CHECK(row_of(report) == row);
      CHECK(report.visited_tiles == V);
      if (!causal) CHECK(report.flops_executed == report.flops_nominal);  // 10N²d
    };
    const RunOptions plain = {{{B_r, B_c}}}, with_init = {{{B_r, B_c}, 1, true}};
    const Index Nd = N * d, dR = d * R;
    check("fa1_backward", plain, {2 * Nd + 4 * dR, dR + 2 * Nd, 2 * R, 0, 0});
    check("fa1_backward", with_init, {2 * Nd + 4 * dR, dR + 5 * Nd, 2 * R, 0, 0});
    check("fa1_backward_shipped", plain,
          {3 * Nd + 2 * dR + d * (R - N), dR + 2 * Nd, 2 * R - N, N, 0});
    check("fa2_backward", plain, {4 * Nd + 4 * dR, 3 * Nd + dR, 2 * R, N, 0});
    check("fused_backward", plain, {5 * Nd + 2 * dR, 4 * Nd, 2 * R, N, dR});
  }
}

TEST_CASE("dQ's partial sums are fp32 and elsewhere; the last visit alone writes dQ") {
  const Index N = 20, d = 3, T_c = 4;
  flashbook_problem p = dense_problem(1, 1, 1, N, N, d, d);
  p.dtype = FLASHBOOK_BF16;
  for (const char* name : {"fa1_backward", "fa1_backward_shipped"}) {
    const Report report = count(name, p, {{{6, 5}}});
    CHECK(counts_of(report, "dQ") == Counts{0, N * d, 0});
    CHECK(counts_of(report, "dQ_fp32").writes == (T_c - 1) * N * d);
    for (const TensorTraffic& t : report.tensors)
      if (t.name == "dQ_fp32") CHECK(t.element_bytes == 4);
  }
}

TEST_CASE("rows that no key tile visits: zeros in dQ, by the clearing") {
  // Bottom-right and causal, N_q = 10, N_k = 4: rows 0 … 5, two row tiles, see nothing. Row 6 sees
  // key 0, row 9 all four: tiles (2, 0), (2, 1), (3, 0) and (3, 1) are visited.
  const Index d = 3, N_v = 4, R = 2 * 3 + 2 * 1, unseen = 6;
  flashbook_problem p = dense_problem(1, 1, 1, 10, 4, d, d);
  p.causal = 1;
  const auto check = [&](const char* name, bool init, Index dq, Index sum_read, Index sum_written) {
    CAPTURE(name);
    CAPTURE(init);
    const Report report = count(name, p, {{{3, 2}, 1, init}});
    CHECK(counts_of(report, "dQ") == Counts{0, dq * d, 0});
    CHECK(counts_of(report, "dQ_fp32").reads == sum_read * d);
    CHECK(counts_of(report, "dQ_fp32").writes == sum_written * d);
  };
  check("fa1_backward", false, N_v, R, R - N_v);
  check("fa1_backward", true, N_v + unseen, R, R);
  check("fa1_backward_shipped", false, N_v + unseen, R - N_v, R - N_v);
  check("fa2_backward", false, N_v + unseen, R, R);
  check("fused_backward", false, N_v + unseen, N_v + unseen, N_v + unseen);
  const Report shipped = count("fa1_backward_shipped", p, {{{3, 2}}});
  CHECK(counts_of(shipped, "O") == Counts{N_v * d, 0, 0});
  CHECK(counts_of(shipped, "delta") == Counts{R - N_v, N_v, 0});

  const AttentionProblem problem(p);
  Random random(3);
  Tensors t(problem, random);
  for (const char* name : all_keys_outside) {
    CAPTURE(name);
    compute(find_algorithm(name), problem, t, {{{3, 2}}});
    for (Index i = 0; i < unseen * d; ++i) CHECK(t.d_q[i] == 0);
    CHECK(t.d_q[(unseen + 1) * d] != 0);
  }
}

TEST_CASE("a key tile is read, and its gradients written, once for all heads of its group") {
  const Index N = 12, d = 3, d_v = 2, heads_kv = 2;
  const flashbook_problem p = dense_problem(1, 6, heads_kv, N, N, d, d_v);
  for (const char* name : all_keys_outside) {
    CAPTURE(name);
    const Report report = count(name, p, {{{4, 3}}});
    CHECK(counts_of(report, "K") == Counts{heads_kv * N * d, 0, 0});
    CHECK(counts_of(report, "V") == Counts{heads_kv * N * d_v, 0, 0});
    CHECK(counts_of(report, "dK") == Counts{0, heads_kv * N * d, 0});
    CHECK(counts_of(report, "dV") == Counts{0, heads_kv * N * d_v, 0});
  }
}

TEST_CASE("the counted peak is what a run needs, to the byte") {
  Random random(89);
  for (int n = 0; n < 100; ++n) {
    const AttentionProblem problem = random_problem(random);
    CAPTURE(testing::describe(problem));
    Tensors tensors(problem, random);
    for (const char* name : all_keys_outside) {
      CAPTURE(name);
      const Algorithm& backward = find_algorithm(name);
      RunOptions options = {{{pick(random, 1, 10), pick(random, 1, 10)}}};
      options.sram_bytes = closed_form(backward, problem, options).peak_sram_bytes;
      if (closed_form(backward, problem, options).visited_tiles == 0) continue;
      CHECK_NOTHROW(compute(backward, problem, tensors, options));
      options.sram_bytes -= 1;
      CHECK_THROWS_AS(compute(backward, problem, tensors, options), InputError);
    }
  }
}

TEST_CASE("gradients repeat bit for bit on any number of threads, fused dQ if it is asked to") {
  // Thin key tiles, so that two workers often add to one row tile at a time.
  const AttentionProblem problem(dense_problem(1, 2, 1, 300, 300, 16, 16));
  const int threads = omp_get_max_threads();
  Random random(5);
  Tensors first(problem, random);
  Tensors again = first;
  RunOptions options = {{{32, 4}}};
  options.deterministic = true;
  for (const char* name : all_keys_outside) {
    CAPTURE(name);
    omp_set_num_threads(1);
    compute(find_algorithm(name), problem, first, options);
    omp_set_num_threads(3);
    for (int attempt = 0; attempt < 10; ++attempt) {
      compute(find_algorithm(name), problem, again, options);
      CHECK(same_gradients(first, again));
    }
    omp_set_num_threads(threads);
  }
}

TEST_CASE("fused dK and dV repeat bit for bit without being asked to, and dQ nearly") {
  const AttentionProblem problem(dense_problem(1, 2, 1, 300, 300, 16, 16));
  const Algorithm& fused = find_algorithm("fused_backward");
  Random random(5);
  Tensors first(problem, random);
  Tensors again = first;
  compute(fused, problem, first, {{{32, 4}}});
  compute(fused, problem, again, {{{32, 4}}});
  CHECK(first.d_k.bytes() == again.d_k.bytes());
  CHECK(first.d_v.bytes() == again.d_v.bytes());
  for (Index i = 0; i < first.d_q.size(); ++i)
    REQUIRE(std::abs(first.d_q[i] - again.d_q[i]) <= 1e-5);
}

TEST_CASE("a key that one row tile must not see is whole again for the next") {
  // Causal, row tiles of 2: key 5 is infinite, which a soft-cap makes harmless to S, not to dX K.
  // Rows 0 … 3 do not share a tile with a row that sees it.
  const Index N = 8;
  flashbook_problem p = dense_problem(1, 1, 1, N, N, 1, 1);
  p.causal = 1;
  p.softcap = 2;
  const AttentionProblem problem(p);
  Random random(97);
  Tensors t(problem, random);
  t.k.set(5, std::numeric_limits<float>::infinity());
  for (const char* name : all_keys_outside) {
    CAPTURE(name);
    compute(find_algorithm(name), problem, t, {{{2, N}}});
    for (Index i = 0; i < N; ++i) CHECK(std::isfinite(t.o[i]));
    for (Index i = 0; i < 4; ++i) CHECK(std::isfinite(t.d_q[i]));
    for (Index i = 5; i < N; ++i) CHECK(std::isnan(t.d_q[i]));
  }
}
