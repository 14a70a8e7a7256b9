#include "cpu_reference/standard.hpp"

#include <algorithm>

#include "cpu_reference/parallel.hpp"
#include "cpu_reference/slack.hpp"

namespace flashbook {
namespace {

/// Rows first … first + rows of one head, widened to Real.
template <class Real, class T>
Matrix<Real> load_rows(const TensorView<const T>& tensor, Index batch, Index head, Index first,
                       Index rows) {
  Matrix<Real> M(rows, tensor.channels());
  for (Index i = 0; i < rows; ++i) {
    const T* row = tensor.row(batch, first + i, head);
    for (Index c = 0; c < tensor.channels(); ++c) M(i, c) = static_cast<Real>(row[c]);
  }
  return M;
}

template <class T, class Real>
void store_rows(const Matrix<Real>& M, const TensorView<T>& tensor, Index batch, Index head,
                Index first) {
  for (Index i = 0; i < M.rows(); ++i) {
    T* row = tensor.row(batch, first + i, head);
    for (Index c = 0; c < M.cols(); ++c) row[c] = round_to<T>(M(i, c));
  }
}

/// ALiBi slope of a head, or 0.
template <class Real, class T>
Real slope_of(const AttentionProblem& problem, const T* slopes, const Member& member, Index head) {
  if (problem->alibi == FLASHBOOK_NO_ALIBI) return 0;
  const Index first = problem->alibi == FLASHBOOK_ALIBI_BH ? member.index * problem->heads_q : 0;
  return static_cast<Real>(slopes[first + head]);
}

/// What is added to the scores of one head: the bias, ALiBi, and −∞ where the mask hides a key.
template <class Real, class T>
Matrix<Real> load_bias(const AttentionProblem& problem, const Inputs& inputs, const Member& member,
                       Index head) {
  const bool has_alibi = problem->alibi != FLASHBOOK_NO_ALIBI;
  if (!problem->has_bias && !has_alibi && !problem.is_masked()) return {};
  const BiasView<const T> bias(static_cast<const T*>(inputs.bias), problem.fields(),
                               problem->bias_strides);
  const Real slope = slope_of<Real>(problem, static_cast<const T*>(inputs.alibi), member, head);
  Matrix<Real> added(member.n_q, member.n_k);
  for (Index i = 0; i < member.n_q; ++i)
    for (Index j = 0; j < member.n_k; ++j) {
      Real& sum = added(i, j) = 0;
      if (!problem.visible(member, i, j)) {
        sum = minus_infinity<Real>;
        continue;
      }
      if (problem->has_bias)
        sum = static_cast<Real>(bias(member.batch, head, member.first_q + i, member.first_k + j));
      if (sum != minus_infinity<Real>)
        sum -= slope * static_cast<Real>(std::abs(i + member.diagonal - j));
    }
  return added;
}

/// A pass over one problem whose tensors hold T, computed in Real, intermediates kept as Stored.
template <class T, class Real, class Stored>
class Pass {
 public:
  Pass(const AttentionProblem& problem, const Inputs& inputs) : problem_(problem), in_(inputs) {}

  void forward(const Outputs& outputs) const {
    const auto& p = problem_.fields();
    const TensorView<T> O(static_cast<T*>(outputs.o), p.o, p.d_v);
    auto* lse = static_cast<Accumulator<T>*>(outputs.lse);
    parallel_for(p.members * p.heads_q, [&](Index task) {
      const Member m = problem_.member(task / p.heads_q);
      const Index h = task % p.heads_q;
      const auto out = flashbook::forward<Stored>(load_head<Real>(problem_, in_, m, h));
      store_rows(out.O, O, m.batch, h, m.first_q);
      Accumulator<T>* lse_row = lse + (m.batch * p.heads_q + h) * p.n_q + m.first_q;
      for (Index i = 0; i < m.n_q; ++i) lse_row[i] = static_cast<Accumulator<T>>(out.lse(i));
    });
    fill_slack(problem_, outputs);
  }

  void backward(const Cotangents& cotangents, const Gradients& gradients) const {
    const auto& p = problem_.fields();
    std::vector<Real> dbias(static_cast<std::size_t>(problem_.bias_size()));
    std::vector<Real> dsinks(static_cast<std::size_t>(p.has_sinks ? p.heads_q : 0));
    const auto member_of = [&](Index task) { return problem_.member(task / p.heads_kv); };
    parallel_for_ordered(
        p.members * p.heads_kv,
        [&](Index task) {
          return backward_of_group(member_of(task), task % p.heads_kv, cotangents, gradients);
        },
        [&](Index task, const std::vector<HeadGradients<Real>>& group) {
          Index head = task % p.heads_kv * problem_.group();
          for (const auto& grad : group) add_shared(member_of(task), head++, grad, dbias, dsinks);
        });
    round_into(dbias, gradients.bias);
    round_into(dsinks, gradients.sinks);
    fill_slack(problem_, gradients);
  }

 private:
  /// Writes dQ of each query head and the sums dK, dV of one kv head; returns what is left to sum.
  std::vector<HeadGradients<Real>> backward_of_group(const Member& m, Index kv_head,
                                                     const Cotangents& cotangents,
                                                     const Gradients& gradients) const {
    const auto& p = problem_.fields();
    Matrix<Real> dK = Matrix<Real>::Zero(m.n_k, p.d), dV = Matrix<Real>::Zero(m.n_k, p.d_v);
    std::vector<HeadGradients<Real>> group;
    for (Index g = 0; g < problem_.group(); ++g) {
      const Index h = kv_head * problem_.group() + g;
      const auto head = load_head<Real>(problem_, in_, m, h);
      const auto out = flashbook::forward<Stored>(head);
      auto grad =
          flashbook::backward<Stored>(head, out, load_cotangents<Real>(problem_, cotangents, m, h));
      dK += grad.dK;
      dV += grad.dV;
      store_rows(grad.dQ, TensorView<T>(static_cast<T*>(gradients.q), p.grad_q, p.d), m.batch, h,
                 m.first_q);
      if (!p.has_bias) grad.dS.resize(0, 0);
      group.push_back(std::move(grad));
    }
    store_rows(dK, TensorView<T>(static_cast<T*>(gradients.k), p.grad_k, p.d), m.batch, kv_head,
               m.first_k);
    store_rows(dV, TensorView<T>(static_cast<T*>(gradients.v), p.grad_v, p.d_v), m.batch, kv_head,
               m.first_k);
    return group;
  }

  void add_shared(const Member& m, Index head, const HeadGradients<Real>& grad,
                  std::vector<Real>& dbias, std::vector<Real>& dsinks) const {
    if (problem_->has_sinks) dsinks[static_cast<std::size_t>(head)] += grad.dsink;
    if (!problem_->has_bias) return;
    const BiasView<Real> sum = gradient_view(dbias.data(), problem_.fields());
    for (Index i = 0; i < m.n_q; ++i)
      for (Index j = 0; j < m.n_k; ++j)
        sum(m.batch, head, m.first_q + i, m.first_k + j) += grad.dS(i, j);
  }

  void round_into(const std::vector<Real>& values, void* tensor) const {
    T* out = static_cast<T*>(tensor);
    for (const Real value : values) *out++ = round_to<T>(value);
  }

  const AttentionProblem& problem_;
  const Inputs& in_;
};

}  // namespace

template <class Real>
Head<Real> load_head(const AttentionProblem& problem, const Inputs& inputs, const Member& m,
                     Index query_head) {
  return with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    const auto& p = problem.fields();
    const Index kv = problem.kv_head(query_head);
    const auto view = [](const void* data, const flashbook_strides& strides, Index channels) {
      return TensorView<const T>(static_cast<const T*>(data), strides, channels);
    };
    Head<Real> head;
    head.Q = load_rows<Real>(view(inputs.q, p.q, p.d), m.batch, query_head, m.first_q, m.n_q);
    head.K = load_rows<Real>(view(inputs.k, p.k, p.d), m.batch, kv, m.first_k, m.n_k);
    head.V = load_rows<Real>(view(inputs.v, p.v, p.d_v), m.batch, kv, m.first_k, m.n_k);
    head.scale = static_cast<Real>(p.scale);
    head.softcap = static_cast<Real>(p.softcap);
    head.bias = load_bias<Real, T>(problem, inputs, m, query_head);
    if (p.has_sinks) head.sink = static_cast<Real>(static_cast<const T*>(inputs.sinks)[query_head]);
    return head;
  });
}

template <class Real>
HeadCotangents<Real> load_cotangents(const AttentionProblem& problem, const Cotangents& cotangents,
                                     const Member& m, Index head) {
  return with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    const auto& p = problem.fields();
    const TensorView<const T> dO(static_cast<const T*>(cotangents.o), p.grad_o, p.d_v);
    HeadCotangents<Real> c = {load_rows<Real>(dO, m.batch, head, m.first_q, m.n_q),
                              Vector<Real>::Zero(m.n_q)};
    if (!p.has_dlse) return c;
    const auto* dlse = static_cast<const Accumulator<T>*>(cotangents.lse) +
                       (m.batch * p.heads_q + head) * p.n_q + m.first_q;
    for (Index i = 0; i < m.n_q; ++i) c.dlse(i) = static_cast<Real>(dlse[i]);
    return c;
  });
}

template Head<float> load_head(const AttentionProblem&, const Inputs&, const Member&, Index);
template Head<double> load_head(const AttentionProblem&, const Inputs&, const Member&, Index);
template HeadCotangents<float> load_cotangents(const AttentionProblem&, const Cotangents&,
                                               const Member&, Index);
template HeadCotangents<double> load_cotangents(const AttentionProblem&, const Cotangents&,
                                                const Member&, Index);

Properties StandardAttention::properties() const {
  Properties properties;
  properties.materialised = true;
  return properties;
}

void StandardAttention::forward(const AttentionProblem& problem, const Inputs& inputs,
                                const Outputs& outputs) const {
  with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    Pass<T, Accumulator<T>, T>(problem, inputs).forward(outputs);
  });
}

void StandardAttention::backward(const AttentionProblem& problem, const Inputs& inputs,
                                 const Outputs&, const Cotangents& cotangents,
                                 const Gradients& gradients) const {
  with_element_type(problem.dtype(), [&](auto element) {
    using T = decltype(element);
    Pass<T, Accumulator<T>, T>(problem, inputs).backward(cotangents, gradients);
  });
}

void Oracle::forward(const AttentionProblem& problem, const Inputs& inputs,
                     const Outputs& outputs) const {
  with_element_type(problem.dtype(), [&](auto element) {
    Pass<decltype(element), double, double>(problem, inputs).forward(outputs);
  });
}

void Oracle::backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs&,
                      const Cotangents& cotangents, const Gradients& gradients) const {
  with_element_type(problem.dtype(), [&](auto element) {
    Pass<decltype(element), double, double>(problem, inputs).backward(cotangents, gradients);
  });
}

}  // namespace flashbook
