// One pass over K and V for each tile of queries: O, m and l stay in shared memory until they are
// done. FlashAttention-2's loop order, without tensor cores.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::one_pass {

constexpr int B_r = 16, B_c = 16, threads = 128;

template <int D>
struct Smem {
  Tile<float, B_r, D> Q, O;
  Tile<float, B_c, D> K, V;
  Tile<float, B_r, B_c> S;
  Tile<float, 1, B_r> m, l, rescale;
};

/// Rows [first, first + rows) of a head as floats, zeros past row n and column d.
template <class T, int rows, int D>
FLASHBOOK_DEVICE void load(Tile<float, rows, D>& tile, const Tensor<const T>& from, int b, int h,
                           int first, int n, int d) {
  for (int e = threadIdx.x; e < rows * D; e += threads) {
    const int i = e / D, c = e % D;
    float x = 0;
    if (first + i < n && c < d) x = to_float(T(from.row(b, first + i, h)(c)));
    tile(i, c) = x;
  }
}

template <class T, int D>
FLASHBOOK_KERNEL(threads)
forward(const ForwardParameters<T> p) {
  Smem<D>& smem = shared_memory<Smem<D>>();
  const int T_r = tiles(p.sizes.n_q(), B_r);
  const int first = blockIdx.x % T_r * B_r, h = blockIdx.x / T_r % p.sizes.heads_q,
            b = blockIdx.x / T_r / p.sizes.heads_q, kv_head = h / p.sizes.group();
  const Visible& visible = p.sizes.visible;
  const Range keys = visible.keys_of(Range{first, first + B_r});

  load<T>(smem.Q, p.Q, b, h, first, p.sizes.n_q(), p.sizes.d);
  for (int e = threadIdx.x; e < B_r * D; e += threads) smem.O(e / D, e % D) = 0;
  if (threadIdx.x < B_r) {
    smem.m(0, threadIdx.x) = -INFINITY;
    smem.l(0, threadIdx.x) = 0;
  }
  for (int j = keys.begin / B_c * B_c; j < keys.end; j += B_c) {
    sync_threads();  // nobody reads the K and V of before
    load<T>(smem.K, p.K, b, kv_head, j, p.sizes.n_k(), p.sizes.d);
    load<T>(smem.V, p.V, b, kv_head, j, p.sizes.n_k(), p.sizes.d_v);
    sync_threads();  // K and V are everybody's

    // S = scale Q K^T
    for (int e = threadIdx.x; e < B_r * B_c; e += threads) {
      const int i = e / B_c, c = e % B_c;
      float s = 0;
      for (int k = 0; k < p.sizes.d; ++k) s += smem.Q(i, k) * smem.K(c, k);
      smem.S(i, c) = visible.keys_of(first + i).holds(j + c) ? s * p.sizes.scale : -INFINITY;
    }
    sync_threads();  // S is complete

    // m = max(m, rowmax S), P = exp(S - m), l = rescale l + rowsum P
    if (threadIdx.x < B_r) {
      const int i = threadIdx.x;
      const float m_old = smem.m(0, i);
      float m = m_old, l = 0;
      for (int c = 0; c < B_c; ++c) m = fmaxf(m, smem.S(i, c));
      const float shift = m == -INFINITY ? 0 : m;
      for (int c = 0; c < B_c; ++c) {
        const float P = expf(smem.S(i, c) - shift);
        smem.S(i, c) = P;
        l += P;
      }
      const float rescale = expf(m_old - shift);
      smem.m(0, i) = m;
      smem.l(0, i) = rescale * smem.l(0, i) + l;
      smem.rescale(0, i) = rescale;
    }
    sync_threads();  // P and rescale are everybody's

    // O = rescale O + P V
    for (int e = threadIdx.x; e < B_r * D; e += threads) {
      const int i = e / D, c = e % D;
      float o = smem.rescale(0, i) * smem.O(i, c);
      for (int k = 0; k < B_c; ++k) o += smem.S(i, k) * smem.V(k, c);
      smem.O(i, c) = o;
    }
  }
  sync_threads();  // O, m and l are complete
  for (int e = threadIdx.x; e < B_r * D; e += threads) {
    const int i = e / D, c = e % D;
    if (first + i >= p.sizes.n_q() || c >= p.sizes.d_v) continue;
    const float l = smem.l(0, i);
    p.O.row(b, first + i, h)(c) = from_float<T>(l == 0 ? 0 : smem.O(i, c) / l);
    if (c == 0) p.lse(p.sizes.lse_row(b, h) + first + i) = smem.m(0, i) + logf(l);
  }
}

template <class T, int D>
LaunchStatus launch_for(const flashbook_problem& problem, const ForwardTensors& tensors,
                        void* stream) {
  const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
  const unsigned blocks = static_cast<unsigned>(tiles(p.sizes.n_q(), B_r)) *
                          static_cast<unsigned>(p.sizes.heads_q * p.sizes.batch);
  if (blocks == 0) return {};
  return launch({"one_pass", {blocks}, {threads}, sizeof(Smem<D>)}, stream, forward<T, D>, p);
}

inline LaunchStatus launch_one_pass(const flashbook_problem& problem, const ForwardTensors& tensors,
                                    void*, void* stream) {
  return with_element_type(problem, [&](auto element) {
    using T = decltype(element);
    const int64_t d = problem.d > problem.d_v ? problem.d : problem.d_v;
    if (d <= 64) return launch_for<T, 64>(problem, tensors, stream);
    if (d <= 128) return launch_for<T, 128>(problem, tensors, stream);
    return launch_for<T, 256>(problem, tensors, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::one_pass

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel one_pass_forward = {
    "one_pass",
    "the loop over queries outside: O, m and l never leave the chip",
    [](const flashbook_problem& problem) { return rung_refusal(problem); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    one_pass::launch_one_pass,
    {false, one_pass::B_r, one_pass::B_c}};
}
