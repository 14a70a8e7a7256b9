#pragma once

#include <functional>

#include "tests/unit/faulty.hpp"

/// The oracle on heads that a fault has changed after they were read: a wrong mask for some rows, K
/// rounded once more, a channel lost.
namespace flashbook::test {

/// A head as it was read, for a fault to change.
struct Reading {
  const AttentionProblem& problem;
  Member member;
  Index query_head;
  bool backward;
  Head<double>& head;

  /// Hides a pair.
  void hide(Index i, Index j) const {
    if (head.bias.size() == 0) head.bias = Matrix<double>::Zero(member.n_q, member.n_k);
    head.bias(i, j) = minus_infinity<double>;
  }
};

/// Writes O, LSE, dQ, dK and dV anew, every head edited first. dBias and dSinks stay the oracle's.
class EditedHeads {
 public:
  using Edit = std::function<void(const Reading&)>;
  explicit EditedHeads(Edit edit) : edit_(std::move(edit)) {}

  void operator()(const Call& call) const {
    for (Index b = 0; b < call.problem->members; ++b)
      for (Index kv_head = 0; kv_head < call.problem->heads_kv; ++kv_head)
        rewrite_group(call, call.problem.member(b), kv_head);
  }

 private:
  static void store(const AttentionProblem& problem, void* tensor, const flashbook_strides& strides,
                    const Matrix<double>& M, Index batch, Index first, Index head) {
    with_element_type(problem.dtype(), [&](auto element) {
      using T = decltype(element);
      const TensorView<T> view(static_cast<T*>(tensor), strides, M.cols());
      for (Index i = 0; i < M.rows(); ++i)
        for (Index c = 0; c < M.cols(); ++c)
          view.row(batch, first + i, head)[c] = round_to<T>(M(i, c));
    });
  }

  void rewrite_group(const Call& call, const Member& m, Index kv_head) const {
    const AttentionProblem& problem = call.problem;
    Matrix<double> dK = Matrix<double>::Zero(m.n_k, problem->d);
    Matrix<double> dV = Matrix<double>::Zero(m.n_k, problem->d_v);
    for (Index h = kv_head * problem.group(); h < (kv_head + 1) * problem.group(); ++h) {
      auto head = load_head<double>(problem, call.inputs, m, h);
      edit_({problem, m, h, call.gradients != nullptr, head});
      const auto out = flashbook::forward<double>(head);
      if (!call.gradients) {
        store(problem, call.outputs.o, problem->o, out.O, m.batch, m.first_q, h);
        auto* lse = static_cast<float*>(call.outputs.lse);
        lse += (m.batch * problem->heads_q + h) * problem->n_q + m.first_q;
        for (Index i = 0; i < m.n_q; ++i) lse[i] = static_cast<float>(out.lse(i));
        continue;
      }
      const auto grad = flashbook::backward<double>(
          head, out, load_cotangents<double>(problem, *call.cotangents, m, h));
      store(problem, call.gradients->q, problem->grad_q, grad.dQ, m.batch, m.first_q, h);
      dK += grad.dK;
      dV += grad.dV;
    }
    if (!call.gradients) return;
    store(problem, call.gradients->k, problem->grad_k, dK, m.batch, m.first_k, kv_head);
    store(problem, call.gradients->v, problem->grad_v, dV, m.batch, m.first_k, kv_head);
  }

  Edit edit_;
};

}  // namespace flashbook::test
