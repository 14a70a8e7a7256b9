// The forward pass with plain multiply-adds, fp32: one thread computes one row, K and V pass
// through shared memory. d = 32, no mask, any N_q and N_k.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fma_forward {

constexpr int B_r = 64, B_c = 16, d = 32;

struct Parameters {
  gmem<const float> Q, K, V;  // [N_q or N_k, d]
  gmem<float> O, lse;         // [N_q, d], [N_q]
  int N_q, N_k;
  float scale;
};

struct Smem {
  Tile<float, B_c, d> K, V;
};

FLASHBOOK_KERNEL(B_r) forward(const Parameters p) {
  Smem& smem = shared_memory<Smem>();
  const int thread = threadIdx.x, row = blockIdx.x * B_r + thread;
  float Q[d], O[d] = {}, m = -INFINITY, l = 0;
  for (int c = 0; c < d; ++c) Q[c] = row < p.N_q ? float(p.Q(row * d + c)) : 0.f;

  for (int first = 0; first < p.N_k; first += B_c) {
    const int keys = p.N_k - first < B_c ? p.N_k - first : B_c;
    for (int i = thread; i < keys * d; i += B_r) {
      smem.K(i / d, i % d) = p.K(first * d + i);
      smem.V(i / d, i % d) = p.V(first * d + i);
    }
    sync_threads();  // K and V are everybody's
    for (int j = 0; j < keys; ++j) {
      float s = 0;
      for (int c = 0; c < d; ++c) s += Q[c] * smem.K(j, c);
      const float m_new = fmaxf(m, s * p.scale);
      const float rescale = exponential(m - m_new), weight = exponential(s * p.scale - m_new);
      m = m_new;
      l = l * rescale + weight;
      for (int c = 0; c < d; ++c) O[c] = O[c] * rescale + weight * smem.V(j, c);
    }
    sync_threads();  // nobody reads them any more
  }

  if (row >= p.N_q) return;
  for (int c = 0; c < d; ++c) p.O(row * d + c) = O[c] / l;
  p.lse(row) = m + logf(l);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fma_forward
