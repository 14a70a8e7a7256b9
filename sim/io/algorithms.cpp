#include "sim/io/algorithms.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "cpu_reference/slack.hpp"
#include "sim/io/closed_form.hpp"
#include "sim/io/fa2_forward.hpp"
#include "sim/io/standard.hpp"
#include "sim/io/three_kernel_backward.hpp"

namespace flashbook::io {
namespace {

constexpr std::array all_algorithms = {
    Algorithm{"standard_forward", "standard attention (FA1 Alg. 0)", false, false,
              standard_forward},
    Algorithm{"standard_backward", "its backward pass (FA1 Alg. 3)", true, false,
              standard_backward},
    Algorithm{"fa2_forward", "FlashAttention-2 (FA2 Alg. 1)", false, true, fa2_forward},
    Algorithm{"three_kernel_backward", "backward in three kernels: delta, dK/dV, dQ", true, true,
              three_kernel_backward},
};

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

}  // namespace

std::span<const Algorithm> algorithms() {
  return all_algorithms;
}

const Algorithm& find_algorithm(std::string_view name) {
  for (const Algorithm& algorithm : all_algorithms)
    if (algorithm.name == name) return algorithm;
  std::ostringstream out;
  out << "algorithm is " << name << ": pass one of";
  for (const Algorithm& algorithm : all_algorithms)
    out << (&algorithm == all_algorithms.data() ? " " : ", ") << algorithm.name;
  throw InputError(out.str());
}

void check_runs(const Algorithm& algorithm, const AttentionProblem& problem, const Blocks& blocks) {
  if (problem.dtype() == DType::fp64)
    throw InputError(
        "dtype is fp64: the blocked algorithms compute in fp32; pass fp32, fp16 or "
        "bf16, or use the oracle for fp64");
  if (!algorithm.takes_blocks || (blocks.rows > 0 && blocks.columns > 0)) return;
  std::ostringstream out;
  out << "blocks (B_r, B_c) are " << blocks.rows << " and " << blocks.columns
      << ": both must be at least 1";
  throw InputError(out.str());
}

Blocks clamped(const Blocks& blocks, const AttentionProblem& problem) {
  return {std::min(blocks.rows, std::max<Index>(problem->n_q, 1)),
          std::min(blocks.columns, std::max<Index>(problem->n_k, 1))};
}

Report run(const Algorithm& algorithm, const AttentionProblem& problem, const RunTensors& tensors,
           const RunOptions& options) {
  check_runs(algorithm, problem, options.blocks);
  Machine machine;
  machine.sram_bytes = options.sram_bytes;
  if (nominal_flops(algorithm, problem) < worth_a_second_thread) machine.max_workers = 1;
  RunOptions run_options = options;
  run_options.blocks = clamped(options.blocks, problem);
  algorithm.execute(machine, problem, tensors, run_options);
  // Slack belongs to no member and to no kernel: it is no part of the traffic.
  if (algorithm.backward)
    fill_slack(problem, tensors.gradients);
  else if (tensors.outputs.lse != nullptr)
    fill_slack(problem, tensors.outputs);

  Report report;
  report.algorithm = algorithm.name;
  report.executed = true;
  report.query_heads = problem->batch * problem->heads_q;
  report.tensors = traffic_of(machine);
  report.visited_tiles = machine.tally.visited_tiles;
  report.flops_executed = machine.tally.flops;
  report.flops_nominal = nominal_flops(algorithm, problem);
  report.peak_sram_bytes = machine.tally.peak_bytes;
  return report;
}

}  // namespace flashbook::io
