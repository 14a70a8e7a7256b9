#pragma once

#include "random_problem.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/implementations.hpp"

/// Runs and comparisons for the tests of sim/io.
namespace flashbook::testing {

inline io::RunTensors run_tensors(Tensors& t) {
  return {t.inputs(), t.outputs(), t.cotangents(), t.gradients()};
}

/// N_q = N_k = N, one head, fp32.
inline AttentionProblem square(Index n, Index d, bool causal) {
  flashbook_problem p = dense_problem(1, 1, 1, n, n, d, d);
  p.causal = causal;
  return AttentionProblem(p);
}

inline io::Report run_random(const io::Algorithm& algorithm, const AttentionProblem& problem,
                             const io::RunOptions& options = {}) {
  Random random(7);
  Tensors tensors(problem, random);
  return io::run(algorithm, problem, run_tensors(tensors), options);
}

/// Both passes, or the forward pass alone where there is no other: returns whether there is.
inline bool compute(const Implementation& implementation, const AttentionProblem& problem,
                    Tensors& t) {
  t.clear_outputs();
  implementation.forward(problem, t.inputs(), t.outputs());
  if (!implementation.supports_backward(problem)) return false;
  implementation.backward(problem, t.inputs(), t.outputs(), t.cotangents(), t.gradients());
  return true;
}

/// Blocks of up to `largest` a side, and whatever else the algorithm takes.
inline io::Schedule random_schedule(Random& random, const io::Algorithm& algorithm, Index largest) {
  io::Schedule schedule = {{pick(random, 1, largest), pick(random, 1, largest)}};
  if (algorithm.takes.splits) schedule.splits = pick(random, 1, 5);
  if (algorithm.takes.init) schedule.includes_init = chance(random, .5);
  return schedule;
}

/// Blocks of up to `largest` a side, and up to five splits where there are any.
inline io::Schedule random_schedule(Random& random, const io::BlockedPair& pair, Index largest) {
  io::Schedule schedule = {{pick(random, 1, largest), pick(random, 1, largest)}};
  if (io::find_algorithm(pair.forward).takes.splits) schedule.splits = pick(random, 1, 5);
  return schedule;
}

inline std::vector<std::pair<const char*, const Storage*>> outputs_of(const AttentionProblem& p,
                                                                      const Tensors& t,
                                                                      bool gradients) {
  std::vector<std::pair<const char*, const Storage*>> all = {{"O", &t.o}, {"LSE", &t.lse}};
  if (!gradients) return all;
  all.insert(all.end(), {{"dQ", &t.d_q}, {"dK", &t.d_k}, {"dV", &t.d_v}});
  if (p->has_bias) all.emplace_back("dBias", &t.d_bias);
  if (p->has_sinks) all.emplace_back("dSinks", &t.d_sinks);
  return all;
}

/// Unit roundoff, times what a few dozen accumulated terms of order one can make of it.
inline double bound_of(DType dtype) {
  return dtype == DType::fp32 ? 2e-5 : dtype == DType::fp16 ? 1e-2 : 8e-2;
}

/// Where what was computed is farther from what was wanted than rounding may put it; empty:
/// nowhere.
inline std::string difference(const AttentionProblem& p, const Tensors& got, const Tensors& want,
                              bool gradients) {
  const auto want_all = outputs_of(p, want, gradients);
  std::size_t which = 0;
  for (const auto& [name, values] : outputs_of(p, got, gradients)) {
    const Storage& reference = *want_all[which++].second;
    double largest = 1;
    for (Index i = 0; i < reference.size(); ++i)
      if (std::isfinite(reference[i])) largest = std::max<double>(largest, std::abs(reference[i]));
    for (Index i = 0; i < values->size(); ++i) {
      const float x = (*values)[i], y = reference[i];
      if (x == y || std::abs(x - y) <= bound_of(p.dtype()) * largest) continue;
      return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(x) + ", not " +
             std::to_string(y);
    }
  }
  return "";
}

inline bool same_bits(const AttentionProblem& p, const Tensors& a, const Tensors& b,
                      bool gradients) {
  const auto other = outputs_of(p, b, gradients);
  std::size_t which = 0;
  for (const auto& [tensor, values] : outputs_of(p, a, gradients))
    if (values->bytes() != other[which++].second->bytes()) return false;
  return true;
}

}  // namespace flashbook::testing
