#pragma once

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "tests/conformance/fuzz/draft.hpp"
#include "tests/conformance/storage.hpp"

/// Random problems of the whole contract, and tensors for them.
namespace flashbook::testing {

using Random = std::mt19937_64;

inline Index pick(Random& random, Index least, Index most) {
  return std::uniform_int_distribution<Index>(least, most)(random);
}
inline bool chance(Random& random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}

/// A problem as the fuzzer draws them, of a type and of numbers that a coarse bound can judge: no
/// fp64, |scale| ≤ 0.3 or 1/√d, a soft-cap below 1 or above.
inline AttentionProblem random_problem(Random& random, Index most_tokens = 24) {
  conformance::Draws draws(random());
  conformance::Draft draft = random_draft(draws, {.tokens = most_tokens});
  if (draft.dtype == DType::fp64) draft.dtype = DType::fp32;
  if (draft.scale) draft.scale = draws.one_of({-0.3, 0.0, 0.3});
  if (draft.softcap > 0) draft.softcap = draws.one_of({0.5, 1.5});
  return conformance::spec_of(draft).problem;
}

/// The elements of one tensor, numbered in logical order, wherever its strides put them.
class Storage {
 public:
  Storage(DType dtype, const conformance::Layout& layout) : memory_(dtype, layout) {}

  void* data() { return memory_.data(); }
  const std::vector<std::byte>& bytes() const { return memory_.bytes(); }
  Index size() const { return memory_.layout().size(); }

  float operator[](Index i) const { return static_cast<float>(memory_.get(i)); }
  void set(Index i, float value) { memory_.set(i, static_cast<double>(value)); }
  void fill(float value) {
    for (Index i = 0; i < size(); ++i) set(i, value);
  }
  void randomise(Random& random, float spread = 1) {
    std::normal_distribution<float> normal(0, spread);
    for (Index i = 0; i < size(); ++i) set(i, normal(random));
  }

 private:
  conformance::Storage memory_;
};

/// All tensors of a problem: inputs random, outputs NaN.
struct Tensors {
  Storage q, k, v, bias, alibi, sinks, o, lse, d_o, d_lse, d_q, d_k, d_v, d_bias, d_sinks;

  Tensors(const AttentionProblem& p, Random& random)
      : q(p.dtype(), layout({p->batch, p->n_q, p->heads_q, p->d}, p->q)),
        k(p.dtype(), layout({p->batch, p->n_k, p->heads_kv, p->d}, p->k)),
        v(p.dtype(), layout({p->batch, p->n_k, p->heads_kv, p->d_v}, p->v)),
        bias(p.dtype(), {bias_shape(p), std::to_array(p->bias_strides)}),
        alibi(p.dtype(), conformance::contiguous({1, 1, 1, p.alibi_size()})),
        sinks(p.dtype(), conformance::contiguous({1, 1, 1, p->heads_q})),
        o(p.dtype(), layout({p->batch, p->n_q, p->heads_q, p->d_v}, p->o)),
        lse(DType::fp32, conformance::contiguous({1, 1, 1, p.lse_size()})),
        d_o(p.dtype(), layout({p->batch, p->n_q, p->heads_q, p->d_v}, p->grad_o)),
        d_lse(lse),
        d_q(p.dtype(), layout({p->batch, p->n_q, p->heads_q, p->d}, p->grad_q)),
        d_k(p.dtype(), layout({p->batch, p->n_k, p->heads_kv, p->d}, p->grad_k)),
        d_v(p.dtype(), layout({p->batch, p->n_k, p->heads_kv, p->d_v}, p->grad_v)),
        d_bias(p.dtype(), conformance::contiguous(bias_shape(p))),
        d_sinks(sinks) {
    for (Storage* input : {&q, &k, &v, &bias, &alibi, &sinks, &d_o, &d_lse})
      input->randomise(random);
    for (Index i = 0; i < bias.size(); ++i)
      if (chance(random, .2)) bias.set(i, -std::numeric_limits<float>::infinity());
    clear_outputs();
  }

  void clear_outputs() {
    for (Storage* output : {&o, &lse, &d_q, &d_k, &d_v, &d_bias, &d_sinks})
      output->fill(std::numeric_limits<float>::quiet_NaN());
  }

  Inputs inputs() {
    return {q.data(), k.data(), v.data(), bias.data(), alibi.data(), sinks.data()};
  }
  Outputs outputs() { return {o.data(), lse.data()}; }
  Cotangents cotangents() { return {d_o.data(), d_lse.data()}; }
  Gradients gradients() {
    return {d_q.data(), d_k.data(), d_v.data(), d_bias.data(), d_sinks.data()};
  }

 private:
  static conformance::Layout layout(const std::array<Index, 4>& sizes, const flashbook_strides& s) {
    return {sizes, {s.batch, s.token, s.head, 1}};
  }
  static std::array<Index, 4> bias_shape(const AttentionProblem& p) {
    return p->has_bias ? std::to_array(p->bias_shape) : std::array<Index, 4>{};
  }
};

/// The problem's line, to find it again.
inline std::string describe(const AttentionProblem& problem) {
  return conformance::format_problem({problem, {}});
}

}  // namespace flashbook::testing
