#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cpu_reference/implementation.hpp"
#include "cpu_reference/tensor_view.hpp"

/// Random problems of the whole contract, and tensors for them.
namespace flashbook::testing {

using Random = std::mt19937_64;

inline Index pick(Random& random, Index least, Index most) {
  return std::uniform_int_distribution<Index>(least, most)(random);
}
inline bool chance(Random& random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}

/// Offsets of `members` random members of a tensor of `tokens`, slack included.
inline std::vector<Index> random_offsets(Random& random, Index members, Index tokens) {
  std::vector<Index> offsets(static_cast<std::size_t>(members) + 1);
  for (Index& offset : offsets) offset = pick(random, 0, tokens);
  offsets[0] = 0;
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

inline void randomise_mask(Random& random, flashbook_problem& p) {
  p.alignment = pick(random, 0, 1);
  p.causal = chance(random, .4);
  if (!chance(random, .4)) return;
  p.window_left = chance(random, .2) ? unbounded : pick(random, -4, 9);
  p.window_right = chance(random, .2) ? unbounded : pick(random, -9, 6);
}

inline void randomise_bias(Random& random, flashbook_problem& p) {
  const Index full[4] = {p.batch, p.heads_q, p.n_q, p.n_k};
  std::array<Index, 4> shape;
  for (std::size_t axis = 0; axis < 4; ++axis) shape[axis] = chance(random, .5) ? 1 : full[axis];
  set_contiguous_bias(p, shape);
}

inline AttentionProblem random_problem(Random& random, Index most_tokens = 24) {
  const bool packed = chance(random, .25);
  const Index batch = packed ? 1 : pick(random, chance(random, .03) ? 0 : 1, 2);
  const Index heads_kv = pick(random, 1, 2), heads_q = heads_kv * pick(random, 1, 3);
  const Index n_q = chance(random, .05) ? 0 : pick(random, 1, most_tokens);
  const Index n_k = chance(random, .05) ? 0 : pick(random, 1, most_tokens);
  flashbook_problem p =
      dense_problem(batch, heads_q, heads_kv, n_q, n_k, pick(random, 1, 9), pick(random, 1, 9));
  p.dtype = static_cast<std::int32_t>(pick(random, FLASHBOOK_FP16, FLASHBOOK_FP32));
  if (chance(random, .5)) {
    p.q = bhnd_strides(n_q, heads_q, p.d);
    p.grad_v = bhnd_strides(n_k, heads_kv, p.d_v);
    p.o = bhnd_strides(n_q, heads_q, p.d_v);
  }
  if (chance(random, .1)) p.k.token = 0;
  if (chance(random, .2)) p.scale = pick(random, -1, 1) * .3;
  if (chance(random, .3)) p.softcap = 1.5;
  randomise_mask(random, p);
  if (chance(random, .4)) randomise_bias(random, p);
  if (chance(random, .4)) p.alibi = static_cast<std::int32_t>(pick(random, 1, 2));
  p.has_sinks = chance(random, .3);
  p.has_dlse = chance(random, .3);
  if (!packed) return AttentionProblem(p);
  p.packed = 1;
  p.members = pick(random, 0, 4);
  return AttentionProblem(p, random_offsets(random, p.members, n_q),
                          random_offsets(random, p.members, n_k));
}

/// Bytes of one tensor; elements are addressed through the problem's strides.
class Storage {
 public:
  Storage(DType dtype, Index elements) : dtype_(dtype), elements_(elements) {
    bytes_.resize(static_cast<std::size_t>(elements * bytes_of(dtype)) + 8);
  }

  void* data() { return bytes_.data(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  Index size() const { return elements_; }

  float operator[](Index i) const {
    return with_element_type(dtype_, [&](auto element) {
      std::memcpy(&element, bytes_.data() + i * bytes_of(dtype_), sizeof element);
      return static_cast<float>(element);
    });
  }
  void set(Index i, float value) {
    with_element_type(dtype_, [&](auto element) {
      element = round_to<decltype(element)>(value);
      std::memcpy(bytes_.data() + i * bytes_of(dtype_), &element, sizeof element);
    });
  }
  void fill(float value) {
    for (Index i = 0; i < elements_; ++i) set(i, value);
  }
  void randomise(Random& random, float spread = 1) {
    std::normal_distribution<float> normal(0, spread);
    for (Index i = 0; i < elements_; ++i) set(i, normal(random));
  }

 private:
  DType dtype_;
  Index elements_;
  std::vector<std::byte> bytes_;
};

/// All tensors of a problem: inputs random, outputs NaN.
struct Tensors {
  Storage q, k, v, bias, alibi, sinks, o, lse, d_o, d_lse, d_q, d_k, d_v, d_bias, d_sinks;

  Tensors(const AttentionProblem& p, Random& random)
      : q(p.dtype(), p->batch * p->n_q * p->heads_q * p->d),
        k(p.dtype(), p->batch * p->n_k * p->heads_kv * p->d),
        v(p.dtype(), p->batch * p->n_k * p->heads_kv * p->d_v),
        bias(p.dtype(), p.bias_size()),
        alibi(p.dtype(), p.alibi_size()),
        sinks(p.dtype(), p->heads_q),
        o(p.dtype(), p->batch * p->n_q * p->heads_q * p->d_v),
        lse(DType::fp32, p.lse_size()),
        d_o(o),
        d_lse(lse),
        d_q(q),
        d_k(k),
        d_v(v),
        d_bias(bias),
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
};

/// A sentence to find a failing problem again.
inline std::string describe(const AttentionProblem& p) {
  std::string text = "N_q " + std::to_string(p->n_q) + " N_k " + std::to_string(p->n_k) + " H " +
                     std::to_string(p->heads_q) + "/" + std::to_string(p->heads_kv) + " d " +
                     std::to_string(p->d) + "/" + std::to_string(p->d_v) + " B " +
                     std::to_string(p->batch) + " members " + std::to_string(p->members) + " " +
                     std::string(name(p.dtype())) + " causal " + std::to_string(p->causal) +
                     " window " + std::to_string(p->window_left) + "," +
                     std::to_string(p->window_right) + " bias " + std::to_string(p->has_bias) +
                     " cap " + std::to_string(p->softcap) + " scale " + std::to_string(p->scale);
  return text + " alibi " + std::to_string(p->alibi) + " sinks " + std::to_string(p->has_sinks);
}

}  // namespace flashbook::testing
