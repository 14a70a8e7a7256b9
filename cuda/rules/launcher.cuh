// From a problem to a kernel's parameters: the host's side, the same on both machines.
#pragma once

#include "cuda/rules/parameters.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// A window's side, or the causal mask's, as an int that no sum of two sizes overflows.
inline int window_side(int64_t side) {
  const int64_t most = most_tokens;
  return static_cast<int>(side > most ? most : side < -most ? -most : side);
}

inline Sizes sizes_of(const flashbook_problem& p) {
  const int n_q = static_cast<int>(p.n_q), n_k = static_cast<int>(p.n_k);
  const int right = window_side(p.window_right);
  return {static_cast<int>(p.batch),
          static_cast<int>(p.heads_q),
          static_cast<int>(p.heads_kv),
          static_cast<int>(p.d),
          static_cast<int>(p.d_v),
          static_cast<float>(p.scale),
          {n_q, n_k, p.alignment == FLASHBOOK_BOTTOM_RIGHT ? n_k - n_q : 0,
           window_side(p.window_left), p.causal && right > 0 ? 0 : right}};
}

/// The views of a problem's tensors.
template <class T>
class Views {
 public:
  explicit Views(const flashbook_problem& problem) : p_(problem) {}

  Tensor<const T> query_side(const void* data, const flashbook_strides& s, int64_t channels) const {
    return view(static_cast<const T*>(data), s, p_.n_q, p_.heads_q, channels);
  }
  Tensor<const T> key_side(const void* data, const flashbook_strides& s, int64_t channels) const {
    return view(static_cast<const T*>(data), s, p_.n_k, p_.heads_kv, channels);
  }
  Tensor<T> query_side(void* data, const flashbook_strides& s, int64_t channels) const {
    return view(static_cast<T*>(data), s, p_.n_q, p_.heads_q, channels);
  }
  Tensor<T> key_side(void* data, const flashbook_strides& s, int64_t channels) const {
    return view(static_cast<T*>(data), s, p_.n_k, p_.heads_kv, channels);
  }
  /// The LSE or its gradient.
  template <class Float>
  gmem<Float> lse(Float* data) const {
    return {data, data ? p_.batch * p_.heads_q * p_.n_q : 0};
  }

 private:
  template <class U>
  Tensor<U> view(U* data, const flashbook_strides& s, int64_t tokens, int64_t heads,
                 int64_t channels) const {
    const Span span = span_of(s, p_.batch, tokens, heads, channels);
    return {gmem<U>(data + span.first, span.size) + -span.first, s.batch, s.token, s.head};
  }

  const flashbook_problem& p_;
};

template <class T>
ForwardParameters<T> forward_parameters(const flashbook_problem& p, const ForwardTensors& t) {
  const Views<T> views(p);
  return {sizes_of(p),
          views.query_side(t.q, p.q, p.d),
          views.key_side(t.k, p.k, p.d),
          views.key_side(t.v, p.v, p.d_v),
          views.query_side(t.o, p.o, p.d_v),
          views.lse(t.lse)};
}

template <class T>
BackwardParameters<T> backward_parameters(const flashbook_problem& p, const BackwardTensors& t) {
  const Views<T> views(p);
  return {sizes_of(p),
          views.query_side(t.q, p.q, p.d),
          views.key_side(t.k, p.k, p.d),
          views.key_side(t.v, p.v, p.d_v),
          views.query_side(t.o, p.o, p.d_v),
          views.query_side(t.grad_o, p.grad_o, p.d_v),
          views.lse(t.lse),
          views.lse(t.grad_lse),
          views.query_side(t.grad_q, p.grad_q, p.d),
          views.key_side(t.grad_k, p.grad_k, p.d),
          views.key_side(t.grad_v, p.grad_v, p.d_v)};
}

/// Calls launch(T{}) with the element type of a problem: float, half or bfloat16.
template <class Launch>
LaunchStatus with_element_type(const flashbook_problem& problem, Launch&& launch) {
  switch (problem.dtype) {
    case FLASHBOOK_FP16:
      return launch(half{});
    case FLASHBOOK_BF16:
      return launch(bfloat16{});
    default:
      return launch(float{});
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE
