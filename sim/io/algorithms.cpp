#include "sim/io/algorithms.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "cpu_reference/slack.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/footprint.hpp"
#include "sim/io/fa1_backward.hpp"
#include "sim/io/fa1_backward_shipped.hpp"
#include "sim/io/fa1_forward.hpp"
#include "sim/io/fa2_backward.hpp"
#include "sim/io/fa2_forward.hpp"
#include "sim/io/fused_backward.hpp"
#include "sim/io/split_kv_decode.hpp"
#include "sim/io/standard.hpp"
#include "sim/io/three_kernel_backward.hpp"

namespace flashbook::io {
namespace {

constexpr Streams nothing = {}, keys = {.keys = true}, both = {.keys = true, .queries = true};
constexpr Streams queries_and_sums = {.queries = true, .sums = true};
constexpr Streams queries_o_and_sums = {.queries = true, .o = true, .sums = true};
constexpr Takes no_choice = {}, blocks = {.blocks = true};
constexpr Takes blocks_splits = {.blocks = true, .splits = true};
constexpr Takes blocks_init = {.blocks = true, .init = true};

// clang-format off
constexpr std::array all_algorithms = {
    // name, title; backward, takes, writes the LSE; what streams; execute, count, footprint
    Algorithm{"standard_forward", "standard attention (FA1 Alg. 0)",
              false, no_choice, false, nothing,
              standard_forward, count_standard_forward, nullptr},
    Algorithm{"standard_forward_lse", "the same, writing the LSE that a backward pass reads",
              false, no_choice, true, nothing,
              standard_forward_lse, count_standard_forward_lse, nullptr},
    Algorithm{"standard_backward", "its backward pass (FA1 Alg. 3)",
              true, no_choice, false, nothing,
              standard_backward, count_standard_backward, nullptr},
    Algorithm{"fa2_forward", "FlashAttention-2 (FA2 Alg. 1)",
              false, blocks, true, keys,
              fa2_forward, count_fa2_forward, fa2_forward_footprint},
    Algorithm{"fa1_forward", "FlashAttention as published (FA1 Alg. 2)",
              false, blocks_init, false, queries_and_sums,
              fa1_forward, count_fa1_forward, fa1_forward_footprint},
    Algorithm{"fa1_forward_lse", "the same, writing the LSE that a backward pass reads",
              false, blocks_init, true, queries_and_sums,
              fa1_forward_lse, count_fa1_forward_lse, fa1_forward_footprint},
    Algorithm{"fa1_forward_shipped", "FlashAttention in the first release's loop order",
              false, blocks, true, queries_and_sums,
              fa1_forward_shipped, count_fa1_forward_shipped, fa1_forward_footprint},
    Algorithm{"split_kv_decode", "flash-decoding: keys split among workers, then combined",
              false, blocks_splits, true, keys,
              split_kv_decode, count_split_kv_decode, split_kv_decode_footprint},
    Algorithm{"fa1_backward", "FlashAttention's backward pass, literal (FA1 Alg. 4)",
              true, blocks_init, false, queries_o_and_sums,
              fa1_backward, count_fa1_backward, fa1_backward_footprint},
    Algorithm{"fa1_backward_shipped", "the same in the loop order of its first release",
              true, blocks, false, queries_and_sums,
              fa1_backward_shipped, count_fa1_backward_shipped, fa2_backward_footprint},
    Algorithm{"fa2_backward", "FlashAttention-2's backward pass, literal (FA2 Alg. 2)",
              true, blocks, false, queries_o_and_sums,
              fa2_backward, count_fa2_backward, fa2_backward_footprint},
    Algorithm{"fused_backward", "backward in one pass over S, dQ added atomically",
              true, blocks, false, queries_and_sums,
              fused_backward, count_fused_backward, fused_backward_footprint,
              /*atomic_sums=*/true},
    Algorithm{"three_kernel_backward", "backward in three kernels: delta, dK/dV, dQ",
              true, blocks, false, both,
              three_kernel_backward, count_three_kernels, three_kernel_footprint},
};
// clang-format on

/// FLOPs below which waking a thread takes longer than the work.
constexpr Index worth_a_second_thread = 200'000;

std::vector<TensorTraffic> traffic_of(const Machine& machine) {
  std::vector<TensorTraffic> traffic;
  for (std::size_t i = 0; i < machine.tally.tensors.size(); ++i) {
    const Tensor tensor = {static_cast<int>(i)};
    const Counts& counts = machine.tally.tensors[i];
    if (counts == Counts{}) continue;
    traffic.push_back({machine.hbm.name(tensor), machine.hbm.kind(tensor),
                       machine.hbm.element_bytes(tensor), counts});
  }
  return traffic;
}

/// Slack belongs to no member and to no kernel: it is no part of the traffic.
void write_slack(const Algorithm& algorithm, const AttentionProblem& problem,
                 const RunTensors& tensors) {
  if (algorithm.backward) return fill_slack(problem, tensors.gradients);
  if (algorithm.writes_lse) return fill_slack(problem, tensors.outputs);
  std::vector<float> unwanted_lse(static_cast<std::size_t>(problem.lse_size()));
  fill_slack(problem, Outputs{tensors.outputs.o, unwanted_lse.data()});
}

void check_lse_given(const Algorithm& algorithm, const AttentionProblem& problem,
                     const Outputs& outputs) {
  if (!algorithm.writes_lse || outputs.lse != nullptr || problem.lse_size() == 0) return;
  throw InputError("outputs.lse is null: " + std::string(algorithm.name) +
                   " writes the LSE; pass [B, H_q, N_q] floats");
}

}  // namespace

std::span<const Algorithm> algorithms() {
  return all_algorithms;
}

const Algorithm& find_algorithm(std::string_view name) {
  for (const Algorithm& algorithm : all_algorithms)
    if (algorithm.name == name) return algorithm;
  std::ostringstream out;
  out << "algorithm (--algorithm) is " << name << ": pass one of";
  for (const Algorithm& algorithm : all_algorithms)
    out << (&algorithm == all_algorithms.data() ? " " : ", ") << algorithm.name;
  throw InputError(out.str());
}

void check_runs(const Algorithm& algorithm, const AttentionProblem& problem,
                const Schedule& schedule) {
  if (problem.dtype() == DType::fp64)
    throw InputError(
        "dtype is fp64: the blocked algorithms compute in fp32; pass fp32, fp16 or "
        "bf16, or use the oracle for fp64");
  const auto& [rows, columns] = schedule.blocks;
  const Index most = algorithm.takes.splits ? most_splits : 1;
  std::ostringstream out;
  if (algorithm.takes.blocks && (rows < 1 || columns < 1))
    out << "blocks (B_r, B_c) are " << rows << " and " << columns << ": both must be at least 1";
  else if (schedule.splits < 1 || schedule.splits > most)
    out << "splits (--splits) is " << schedule.splits << ": pass "
        << (algorithm.takes.splits
                ? "1 to " + std::to_string(most_splits)
                : "1, for " + std::string(algorithm.name) + " does not split the keys");
  else if (schedule.includes_init && !algorithm.takes.init)
    out << "includes_init (--includes-init) is set: " << algorithm.name
        << " has no clearing of outputs that could be left uncounted; leave it out";
  else
    return;
  throw InputError(out.str());
}

Blocks clamped(const Blocks& asked, const AttentionProblem& problem) {
  return {std::min(asked.rows, std::max<Index>(problem->n_q, 1)),
          std::min(asked.columns, std::max<Index>(problem->n_k, 1))};
}

Report run(const Algorithm& algorithm, const AttentionProblem& problem, const RunTensors& tensors,
           const RunOptions& options) {
  check_runs(algorithm, problem, options);
  check_lse_given(algorithm, problem, tensors.outputs);
  Machine machine;
  machine.sram_bytes = options.sram_bytes;
  machine.listener = options.listener;
  if (nominal_flops(algorithm, problem) < worth_a_second_thread) machine.max_workers = 1;
  algorithm.execute(machine, problem, tensors, options);
  write_slack(algorithm, problem, tensors);

  Report report;
  report.algorithm = algorithm.name;
  report.executed = true;
  report.includes_init = options.includes_init;
  report.splits = options.splits;
  report.query_heads = problem->batch * problem->heads_q;
  report.tensors = traffic_of(machine);
  report.visited_tiles = machine.tally.visited_tiles;
  report.flops_executed = machine.tally.flops;
  report.flops_nominal = nominal_flops(algorithm, problem);
  report.peak_sram_bytes = machine.tally.peak_bytes;
  report.peak_tiles = machine.tally.peak_tiles;
  return report;
}

}  // namespace flashbook::io
