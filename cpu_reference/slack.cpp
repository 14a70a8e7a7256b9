#include "cpu_reference/slack.hpp"

#include <algorithm>
#include <limits>

#include "cpu_reference/tensor_view.hpp"

namespace flashbook {
namespace {

template <class T>
void zero_tokens(void* tensor, const flashbook_strides& strides, Index first, Index last,
                 Index heads, Index channels) {
  const TensorView<T> view(static_cast<T*>(tensor), strides, channels);
  for (Index token = first; token < last; ++token)
    for (Index head = 0; head < heads; ++head)
      std::fill_n(view.row(0, token, head), channels, T(0));
}

}  // namespace

void fill_slack(const AttentionProblem& problem, const Outputs& outputs) {
  with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    const auto& p = problem.fields();
    zero_tokens<T>(outputs.o, p.o, problem.first_slack_q(), p.n_q, p.heads_q, p.d_v);
    auto* lse = static_cast<Accumulator<T>*>(outputs.lse);
    for (Index head = 0; head < p.heads_q; ++head)
      for (Index token = problem.first_slack_q(); token < p.n_q; ++token)
        lse[head * p.n_q + token] = -std::numeric_limits<Accumulator<T>>::infinity();
  });
}

void fill_slack(const AttentionProblem& problem, const Gradients& gradients) {
  with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    const auto& p = problem.fields();
    const Index first_q = problem.first_slack_q(), first_k = problem.first_slack_k();
    zero_tokens<T>(gradients.q, p.grad_q, first_q, p.n_q, p.heads_q, p.d);
    zero_tokens<T>(gradients.k, p.grad_k, first_k, p.n_k, p.heads_kv, p.d);
    zero_tokens<T>(gradients.v, p.grad_v, first_k, p.n_k, p.heads_kv, p.d_v);
  });
}

}  // namespace flashbook
