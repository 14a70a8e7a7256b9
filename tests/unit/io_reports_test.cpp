// What a report says beside its counts, and its peak where one small tile alone decides it.
#include <doctest/doctest.h>

#include <limits>

#include "sim/io/closed_form/best_blocks.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/implementations.hpp"
#include "tests/unit/io_runs.hpp"

using namespace flashbook;
using namespace flashbook::io;

TEST_CASE("a report says what was run, of how many heads, and in how many splits") {
  flashbook_problem p = dense_problem(2, 4, 2, 3, 5, 6, 7);
  const AttentionProblem problem(p);
  const Report split =
      testing::run_random(find_algorithm("split_kv_decode"), problem, {{{2, 2}, 3}});
  CHECK(split.executed);
  CHECK(split.algorithm == "split_kv_decode");
  CHECK(split.splits == 3);
  CHECK(split.query_heads == 8);
  CHECK(split.flops_nominal == 8 * 3 * 5 * 2 * (6 + 7));
  const Report fa1 = closed_form(find_algorithm("fa1_backward"), problem, {{2, 2}, 1, true});
  CHECK(fa1.includes_init);
  CHECK(fa1.flops_nominal == 8 * 3 * 5 * 2 * (3 * 6 + 2 * 7));
  Report atomic;
  atomic.tensors = {{"a", Kind::matrix, 4, {0, 0, 3}}, {"b", Kind::vector, 4, {0, 0, 5}}};
  CHECK(atomic.atomic_updates() == 8);
}

TEST_CASE("blocks beyond the problem are the whole of it, however large") {
  const AttentionProblem problem = testing::square(6, 2, true);
  const Index largest = std::numeric_limits<Index>::max();
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.takes.blocks) continue;
    CAPTURE(algorithm.name);
    const Report whole = closed_form(algorithm, problem, {{6, 6}});
    for (const Report& report : {closed_form(algorithm, problem, {{largest, largest}}),
                                 testing::run_random(algorithm, problem, {{{largest, largest}}})}) {
      CHECK(report.tensors == whole.tensors);
      CHECK(report.peak_sram_bytes == whole.peak_sram_bytes);
    }
  }
  const Algorithm& fa2 = find_algorithm("fa2_forward");
  CHECK(best_blocks(fa2, problem, 1 << 20) == Blocks{6, 6});
  CHECK(best_blocks(fa2, testing::square(1, 2, false), 1 << 20) == Blocks{1, 1});
  CHECK(best_blocks(fa2, testing::square(0, 2, false), 1 << 20) == Blocks{1, 1});
}

TEST_CASE("a bias's shape is read by nobody where there is no bias") {
  const AttentionProblem plain = testing::square(5, 2, false);
  flashbook_problem fields = plain.fields();
  for (std::int64_t& axis : fields.bias_shape) axis = 1;
  const AttentionProblem shaped(fields);
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const Report want = closed_form(algorithm, plain);
    for (const Report& report :
         {closed_form(algorithm, shaped), testing::run_random(algorithm, shaped)}) {
      CHECK(report.tensors == want.tensors);
      CHECK(report.peak_sram_bytes == want.peak_sram_bytes);
    }
  }
}

namespace {

void check_peaks(const AttentionProblem& problem) {
  CAPTURE(testing::describe(problem));
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const Schedule schedule = {{3, 20}, 1, algorithm.takes.init};
    CHECK(testing::run_random(algorithm, problem, {schedule}).peak_sram_bytes ==
          closed_form(algorithm, problem, schedule).peak_sram_bytes);
  }
}

/// Without a bias, and with it whole or broadcast along an axis.
void check_peaks_of_biases(flashbook_problem p, const std::vector<Index>& cu_q,
                           const std::vector<Index>& cu_k) {
  check_peaks(AttentionProblem(p, cu_q, cu_k));
  for (const std::array<Index, 4>& shape : {std::array<Index, 4>{1, 1, p.n_q, p.n_k},
                                            {1, 1, 1, p.n_k},
                                            {1, 1, p.n_q, 1},
                                            {1, 1, 1, 1}}) {
    set_contiguous_bias(p, shape);
    check_peaks(AttentionProblem(p, cu_q, cu_k));
  }
}

}  // namespace

TEST_CASE("the peak by formula is a run's where one small tile alone decides it") {
  for (const std::int32_t dtype : {FLASHBOOK_FP16, FLASHBOOK_FP32})
    for (const int options : {0, 1, 2}) {
      flashbook_problem p = dense_problem(1, 1, 1, 0, 0, 1, 1);
      p.dtype = dtype;
      p.has_sinks = options & 1;
      p.softcap = options & 2;
      for (const Index n_q : {0, 1, 7, 100})
        for (const Index n_k : {0, 1, 7, 70}) {
          p.n_q = n_q;
          p.n_k = n_k;
          check_peaks_of_biases(p, {}, {});
        }
      // Packed, with slack longer than any member, and members longer than the slack.
      p.n_q = p.n_k = 30;
      p.packed = 1;
      p.members = 2;
      check_peaks_of_biases(p, {0, 1, 1}, {0, 0, 25});
      check_peaks_of_biases(p, {0, 0, 25}, {0, 1, 1});
      check_peaks_of_biases(p, {0, 12, 25}, {0, 0, 2});
      check_peaks_of_biases(p, {0, 13, 25}, {0, 2, 2});
    }
}
