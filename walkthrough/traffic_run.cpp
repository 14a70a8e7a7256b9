#include "walkthrough/traffic_run.hpp"

#include <random>

namespace flashbook {
namespace {

/// Normal random numbers of one type.
class RandomTensor {
 public:
  RandomTensor(DType dtype, Index elements, std::mt19937& random)
      : bytes_(static_cast<std::size_t>(elements * bytes_of(dtype))) {
    std::normal_distribution<float> normal;
    with_element_type(dtype, [&](auto element) {
      using T = decltype(element);
      T* data = reinterpret_cast<T*>(bytes_.data());
      for (Index i = 0; i < elements; ++i) data[i] = static_cast<T>(normal(random));
    });
  }
  void* data() { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

/// Elements from the first of a tensor [batch, tokens, heads, channels] to its last, inclusive.
Index extent(const flashbook_strides& strides, Index batch, Index tokens, Index heads,
             Index channels) {
  if (batch == 0 || tokens == 0) return 0;
  return (batch - 1) * strides.batch + (tokens - 1) * strides.token + (heads - 1) * strides.head +
         channels;
}

/// Likewise of the bias, whose axes may be broadcast.
Index bias_extent(const flashbook_problem& p) {
  if (!p.has_bias) return 0;
  Index last = 0;
  for (int axis = 0; axis < 4; ++axis) {
    if (p.bias_shape[axis] == 0) return 0;
    last += (p.bias_shape[axis] - 1) * p.bias_strides[axis];
  }
  return last + 1;
}

}  // namespace

io::Report run_on_random(const io::Algorithm& algorithm, const AttentionProblem& problem,
                         const io::RunOptions& options) {
  std::mt19937 random(1);
  const flashbook_problem& p = problem.fields();
  const auto flat = [&](Index elements) { return RandomTensor(problem.dtype(), elements, random); };
  const auto on_queries = [&](const flashbook_strides& strides, Index channels) {
    return flat(extent(strides, p.batch, p.n_q, p.heads_q, channels));
  };
  const auto on_keys = [&](const flashbook_strides& strides, Index channels) {
    return flat(extent(strides, p.batch, p.n_k, p.heads_kv, channels));
  };
  const auto row_vector = [&] { return RandomTensor(DType::fp32, problem.lse_size(), random); };

  RandomTensor q = on_queries(p.q, p.d), k = on_keys(p.k, p.d), v = on_keys(p.v, p.d_v);
  RandomTensor bias = flat(bias_extent(p)), alibi = flat(problem.alibi_size());
  RandomTensor sinks = flat(p.heads_q), d_sinks = flat(p.heads_q);
  RandomTensor o = on_queries(p.o, p.d_v), lse = row_vector();
  RandomTensor d_o = on_queries(p.grad_o, p.d_v), d_lse = row_vector();
  RandomTensor d_q = on_queries(p.grad_q, p.d), d_k = on_keys(p.grad_k, p.d);
  RandomTensor d_v = on_keys(p.grad_v, p.d_v), d_bias = flat(problem.bias_size());

  return io::run(algorithm, problem,
                 {{q.data(), k.data(), v.data(), bias.data(), alibi.data(), sinks.data()},
                  {o.data(), lse.data()},
                  {d_o.data(), d_lse.data()},
                  {d_q.data(), d_k.data(), d_v.data(), d_bias.data(), d_sinks.data()}},
                 options);
}

AttentionProblem one_head_of(const AttentionProblem& problem) {
  const flashbook_problem& all = problem.fields();
  flashbook_problem one = dense_problem(1, 1, 1, all.n_q, all.n_k, all.d, all.d_v);
  one.dtype = all.dtype;
  one.causal = all.causal;
  one.alignment = all.alignment;
  one.window_left = all.window_left;
  one.window_right = all.window_right;
  return AttentionProblem(one);
}

io::Report run_one_head(const io::Algorithm& algorithm, const AttentionProblem& problem,
                        const io::RunOptions& options) {
  return run_on_random(algorithm, one_head_of(problem), options)
      .repeated(problem->batch * problem->heads_q);
}

}  // namespace flashbook
