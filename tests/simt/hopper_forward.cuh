// FlashAttention-3's pipeline (Shah et al., arXiv:2407.08608): a warpgroup whose one thread loads
// tiles by TMA into a ring, and two that compute, 64 rows of queries each, and take turns at the
// tensor cores, so that one's softmax runs beside the other's products. One head, no mask but the
// end of the keys.
#pragma once

#include "cuda/isa/hopper.cuh"

namespace flashbook::FLASHBOOK_MACHINE::hopper_forward {

constexpr int B_r = 128, B_c = 64, stages = 2, threads = 384, consumers = 256;
constexpr int rows = 64;  // of queries, of a warpgroup

struct Parameters {
  TensorMap Q, K, V, O;  // [N, d], in boxes of 64 x 64
  gmem<float> lse;       // [N_q]
  int N_q, N_k;
  float scale;
};

template <class T, int d>
struct Smem {
  Tile<T, B_r, d, Swizzle128> Q;  // O, at the end
  Tile<T, B_c, d, Swizzle128> K[stages], V[stages];
  Mbarrier full_Q, full_K[stages], full_V[stages], empty_K[stages], empty_V[stages];
};

/// Numbered barriers. turn + c: warpgroup c may start its products. stored + c: it has written O.
enum : int { turn = 1, stored = 3 };

template <class T, int d>
FLASHBOOK_DEVICE void initialise(Smem<T, d>& smem) {
  mbarrier_init(smem.full_Q, 1);
  for (int s = 0; s < stages; ++s) {
    mbarrier_init(smem.full_K[s], 1);
    mbarrier_init(smem.full_V[s], 1);
    mbarrier_init(smem.empty_K[s], 2);  // one arrival a warpgroup
    mbarrier_init(smem.empty_V[s], 2);
  }
  fence_mbarrier_init();
}

/// The tile's `n` rows from row `first` of the tensor on.
template <class T, int n, int d>
FLASHBOOK_DEVICE void load(Tile<T, n, d, Swizzle128>& tile, const TensorMap& map, int first,
                           Mbarrier& full) {
  mbarrier_arrive_expect_tx(full, n * d * sizeof(T));
  for (int row = 0; row < n; row += 64)
    for (int column = 0; column < d; column += 64)
      tma_load(tile.at(row, column), map, {column, first + row}, full);
}

template <class T, int d>
FLASHBOOK_DEVICE void produce(Smem<T, d>& smem, const Parameters& p, int blocks) {
  load(smem.Q, p.Q, blockIdx.x * B_r, smem.full_Q);
  for (int j = 0; j < blocks; ++j) {
    const int s = j % stages, phase = j / stages % 2;
    mbarrier_wait(smem.empty_K[s], phase ^ 1);  // the first round finds all stages empty
    load(smem.K[s], p.K, j * B_c, smem.full_K[s]);
    mbarrier_wait(smem.empty_V[s], phase ^ 1);
    load(smem.V[s], p.V, j * B_c, smem.full_V[s]);
  }
}

FLASHBOOK_DEVICE float quad_max(float x) {
  x = fmaxf(x, shuffle_xor(x, 1));
  return fmaxf(x, shuffle_xor(x, 2));
}
FLASHBOOK_DEVICE float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}

/// Of the thread's two rows, h = 0 and 1: accumulator i belongs to row i / 2 % 2.
template <int d>
struct Softmax {
  float O[d / 2], m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};

  /// S becomes P = exp(scale (S - m)), and O and l what they are with the new m.
  FLASHBOOK_DEVICE void take(float (&S)[B_c / 2], float scale_log2) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float m_new = m[h];
#pragma unroll
      for (int i = 2 * h; i < B_c / 2; i += 4) m_new = fmaxf(m_new, fmaxf(S[i], S[i + 1]));
      m_new = quad_max(m_new);
      const float alpha = exp2_approx((m[h] - m_new) * scale_log2);
      m[h] = m_new;
      l[h] *= alpha;
#pragma unroll
      for (int i = 2 * h; i < d / 2; i += 4) {
        O[i] *= alpha;
        O[i + 1] *= alpha;
      }
#pragma unroll
      for (int i = 2 * h; i < B_c / 2; i += 4)
        for (int e = i; e < i + 2; ++e) {
          S[e] = exp2_approx((S[e] - m_new) * scale_log2);
          l[h] += S[e];
        }
    }
  }
};

/// S = Q_c K^T
template <class T, int d>
FLASHBOOK_DEVICE void start_S(float (&S)[B_c / 2], Smem<T, d>& smem, int c, int s) {
#pragma unroll
  for (int k = 0; k < d; k += 16)
    wgmma<T>(S, wgmma_operand(smem.Q, c * rows, k), wgmma_operand(smem.K[s], 0, k), k > 0);
  wgmma_commit();
}

/// O += P V
template <class T, int d>
FLASHBOOK_DEVICE void start_O(float (&O)[d / 2], const uint32_t (&P)[B_c / 16][4], Smem<T, d>& smem,
                              int s) {
#pragma unroll
  for (int k = 0; k < B_c; k += 16)
    wgmma_trans<T>(O, P[k / 16], wgmma_operand(smem.V[s], k, 0), true);
  wgmma_commit();
}

template <class T>
FLASHBOOK_DEVICE void pack_P(uint32_t (&P)[B_c / 16][4], const float (&S)[B_c / 2]) {
#pragma unroll
  for (int i = 0; i < B_c / 4; ++i) P[i / 4][i % 4] = pack<T>(S[2 * i], S[2 * i + 1]);
}

/// O / l leaves through shared memory, where this warpgroup's queries were, and the LSE.
template <class T, int d>
FLASHBOOK_DEVICE void store(Softmax<d>& x, Smem<T, d>& smem, const Parameters& p, int c) {
  const int lane = threadIdx.x % 32, row = c * rows + threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float l = quad_sum(x.l[h]);
    const int i = blockIdx.x * B_r + row + 8 * h;
    if (lane % 4 == 0 && i < p.N_q) p.lse(i) = x.m[h] * p.scale + logf(l);
#pragma unroll
    for (int n = 0; n < d / 8; ++n)
      store_vector(smem.Q.at(row + 8 * h, n * 8 + lane % 4 * 2),
                   pack<T>(x.O[4 * n + 2 * h] / l, x.O[4 * n + 2 * h + 1] / l));
  }
  fence_proxy_async();
  barrier_sync(stored + c, 128);  // the rows of O are complete, also for the copy engine
  if (threadIdx.x % 128 != 0) return;
  for (int column = 0; column < d; column += 64)
    tma_store(p.O, {column, static_cast<int>(blockIdx.x) * B_r + c * rows},
              smem.Q.at(c * rows, column));
  bulk_commit();
  bulk_wait_read<0>();
}

template <class T, int d>
FLASHBOOK_DEVICE void consume(Smem<T, d>& smem, const Parameters& p, int blocks, int c) {
  const int lane = threadIdx.x % 32;
  const bool releases = threadIdx.x % 128 == 0;
  const float scale_log2 = p.scale * 1.44269504f;
  Softmax<d> x;
  for (float& o : x.O) o = 0;
  mbarrier_wait(smem.full_Q, 0);
  if (c == 1) barrier_arrive(turn, consumers);  // warpgroup 0 has the first turn
  for (int j = 0; j < blocks; ++j) {
    const int s = j % stages, phase = j / stages % 2;
    float S[B_c / 2];
    uint32_t P[B_c / 16][4];
    mbarrier_wait(smem.full_K[s], phase);
    barrier_sync(turn + c, consumers);  // the other warpgroup has started its products
    wgmma_fence();
    start_S(S, smem, c, s);
    if (c == 0 || j + 1 < blocks) barrier_arrive(turn + 1 - c, consumers);
    wgmma_wait<0>(S);
    mbarrier_arrive_if(smem.empty_K[s], releases);
#pragma unroll
    for (int i = 0; i < B_c / 2; ++i)
      if (j * B_c + i / 4 * 8 + lane % 4 * 2 + i % 2 >= p.N_k) S[i] = -INFINITY;
    x.take(S, scale_log2);
    pack_P<T>(P, S);
    mbarrier_wait(smem.full_V[s], phase);
    wgmma_fence();
    start_O(x.O, P, smem, s);
    wgmma_wait<0>(x.O);
    mbarrier_arrive_if(smem.empty_V[s], releases);
  }
  store(x, smem, p, c);
}

template <class T, int d>
FLASHBOOK_KERNEL(threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  auto& smem = shared_memory<Smem<T, d>>();
  const int warpgroup = shuffle(threadIdx.x / 128, 0);  // uniform, also for the compiler
  const int blocks = (p.N_k + B_c - 1) / B_c;
  if (threadIdx.x == 0) initialise(smem);
  sync_threads();  // the mbarriers are everybody's
  if (warpgroup == 0) {
    decrease_registers<24>();
    if (threadIdx.x == 0) produce(smem, p, blocks);
  } else {
    increase_registers<240>();
    consume(smem, p, blocks, warpgroup - 1);
  }
}

/// Launches it over tensors [N, d].
template <class T, int d>
LaunchStatus launch_forward(void (*kernel)(Parameters), gmem<const T> Q, gmem<const T> K,
                            gmem<const T> V, gmem<T> O, gmem<float> lse, int N_q, int N_k,
                            float scale, void* stream) {
  Parameters p = {{}, {}, {}, {}, lse, N_q, N_k, scale};
  const auto shape = [](int n) { return TensorShape{2, {d, n}, {1, d}, {64, 64}}; };
  for (const LaunchStatus& status :
       {make_tensor_map(p.Q, Q, shape(N_q)), make_tensor_map(p.K, K, shape(N_k)),
        make_tensor_map(p.V, V, shape(N_k)), make_tensor_map(p.O, O, shape(N_q))})
    if (!status.ok()) return status;
  const auto blocks = static_cast<unsigned>((N_q + B_r - 1) / B_r);
  return launch({"hopper_forward", {blocks}, {threads}, sizeof(Smem<T, d>)}, stream, kernel, p);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::hopper_forward
