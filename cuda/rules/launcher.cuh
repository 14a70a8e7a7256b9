// From a problem to a kernel's parameters: the host's side, the same on both machines.
#pragma once

#include "cuda/rules/parameters.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Whether rows of `channels` elements can be read and written 16 bytes at a time.
template <class T>
bool in_chunks(const T* data, const flashbook_strides& strides, int64_t batch, int64_t tokens,
               int64_t heads, int64_t channels) {
  constexpr int64_t chunk = 16 / sizeof(T);
  const auto whole = [](int64_t size, int64_t stride) { return size <= 1 || stride % chunk == 0; };
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && channels % chunk == 0 &&
         whole(batch, strides.batch) && whole(tokens, strides.token) && whole(heads, strides.head);
}

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
    return {gmem<U>(data + span.first, span.size) + -span.first,
            s.batch,
            s.token,
            s.head,
            static_cast<int>(channels),
            in_chunks(data, s, p_.batch, tokens, heads, channels)};
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
          t.grad_lse != nullptr,
          views.query_side(t.grad_q, p.grad_q, p.d),
          views.key_side(t.grad_k, p.grad_k, p.d),
          views.key_side(t.grad_v, p.grad_v, p.d_v)};
}

/// The width of tiles that hold rows of Q, K and V: the first of 64, 128 and 256 that does.
inline int tile_width(const flashbook_problem& p) {
  const int64_t d = p.d > p.d_v ? p.d : p.d_v;
  return d <= 64 ? 64 : d <= 128 ? 128 : 256;
}

/// Calls launch.operator()<T, D>() with an element type and the width of a problem's tiles.
template <class T, class Launch>
LaunchStatus with_width(const flashbook_problem& problem, Launch&& launch) {
  switch (tile_width(problem)) {
    case 64:
      return launch.template operator()<T, 64>();
    case 128:
      return launch.template operator()<T, 128>();
    default:
      return launch.template operator()<T, 256>();
  }
}

/// The same with the problem's element type, half or bfloat16.
template <class Launch>
LaunchStatus with_16_bit_type(const flashbook_problem& problem, Launch&& launch) {
  if (problem.dtype == FLASHBOOK_FP16) return with_width<half>(problem, launch);
  return with_width<bfloat16>(problem, launch);
}

/// float, too.
template <class Launch>
LaunchStatus with_type(const flashbook_problem& problem, Launch&& launch) {
  if (problem.dtype == FLASHBOOK_FP32) return with_width<float>(problem, launch);
  return with_16_bit_type(problem, launch);
}

/// Starts a kernel of `blocks` blocks in one dimension; nothing if there are none. More than fit a
/// grid stay too many, so that the launch says so.
template <class... Parameters, class... Arguments>
LaunchStatus launch_blocks(const char* name, int64_t blocks, int threads, std::size_t shared_bytes,
                           void* stream, void (*kernel)(Parameters...),
                           const Arguments&... arguments) {
  if (blocks == 0) return {};
  const unsigned grid = blocks > INT32_MAX ? UINT32_MAX : static_cast<unsigned>(blocks);
  const LaunchShape shape = {name, {grid}, {static_cast<unsigned>(threads)}, shared_bytes};
  return launch(shape, stream, kernel, arguments...);
}

}  // namespace flashbook::FLASHBOOK_MACHINE
