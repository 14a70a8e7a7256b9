#include "sim/io/closed_form/closed_form.hpp"

#include "sim/io/closed_form/totals.hpp"

namespace flashbook::io {

Index nominal_flops(const Algorithm& algorithm, const AttentionProblem& problem) {
  Index pairs = 0;
  for_members(problem, [&](const Member& m, Index times) { pairs += times * m.n_q * m.n_k; });
  const Index d = problem->d, d_v = problem->d_v;
  const Index multiply_adds =
      problem->heads_q * pairs * (algorithm.backward ? 3 * d + 2 * d_v : d + d_v);
  return problem->causal ? multiply_adds : 2 * multiply_adds;
}

Report closed_form(const Algorithm& algorithm, const AttentionProblem& problem,
                   const Schedule& schedule) {
  check_runs(algorithm, problem, schedule);
  Report report;
  report.algorithm = algorithm.name;
  report.query_heads = problem->batch * problem->heads_q;
  report.flops_nominal = nominal_flops(algorithm, problem);
  report.includes_init = schedule.includes_init;
  report.splits = schedule.splits;
  Schedule clamped_schedule = schedule;
  clamped_schedule.blocks = clamped(schedule.blocks, problem);
  algorithm.count(problem, clamped_schedule, report);
  return report;
}

}  // namespace flashbook::io
