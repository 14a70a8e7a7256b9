// FlashAttention-1 as published (FlashAttention, algorithm 1): the loop over tiles of K and V is
// outside, the one over tiles of Q inside. S and P never reach memory; O, m and l live there and
// are read, rescaled and written for every tile of keys. One block a head, for all its tiles of
// keys update the same O.
//
// Predicted against standard (its case, 64 heads): 5 times slower (measured: 4.5), for 64 blocks of
// 4 warps leave half of 132 multiprocessors idle and the others one warp a scheduler, which waits
// for each load. From some 500 heads on: equal in 16 bits, where moving O as fp32 for every tile, 2
// d N^2 / B_c elements of 4 bytes, costs what S and P did; 1.1 times faster in fp32, where it costs
// half.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/fma.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::fa1 {

constexpr int B_r = fma::rows;
template <int D>
constexpr int B_c = fma::tile_keys<D>;

template <int D>
struct Smem {
  fma::Tile<B_r, D> Q;
  fma::Tile<B_c<D>, D> K, V;
  fma::Tile<B_r, B_c<D>> P;
};

/// What tiles of keys hand on to each other, for the rows of all heads: fp32 in global memory.
template <int D>
struct Workspace {
  gmem<float> O, m, l;  // [B, H_q, N_q, D], [B, H_q, N_q] twice

  /// The four channels of O from fma::channel(n) on.
  FLASHBOOK_DEVICE gmem<float> four(int64_t row, int n) const {
    return O + (row * D + fma::channel(n));
  }
  FLASHBOOK_DEVICE RowState state(int64_t row) const { return {m(row), l(row)}; }
  /// Each of the 16 threads of a row may have read its state; one writes it.
  FLASHBOOK_DEVICE void set_state(int64_t row, const RowState& state) const {
    if (fma::x() != 0) return;
    m(row) = state.m;
    l(row) = state.l;
  }
};

/// O = 0, m = -inf, l = 0
template <int D>
FLASHBOOK_DEVICE void initialise(const Workspace<D>& kept, int64_t head_row, int n_q) {
  for (int first = 0; first < n_q; first += B_r)
    for (int r = 0; r < fma::thread_rows && first + fma::row(r) < n_q; ++r) {
      const int64_t row = head_row + first + fma::row(r);
      for (int n = 0; n < D / 64; ++n) store_four(kept.four(row, n), 0, 0, 0, 0);
      kept.set_state(row, {});
    }
}

/// Adds a tile of keys to a row: m = max(m_old, m~), l = e^(m_old - m) l_old + e^(m~ - m) l~,
/// O = (e^(m_old - m) l_old O + e^(m~ - m) P~ V) / l. The tilde is of this tile alone.
template <int D>
FLASHBOOK_DEVICE void update(const Workspace<D>& kept, int64_t row, const RowState& old,
                             const RowState& tile, const float (&PV)[D / 16]) {
  RowState sum = {fmaxf(old.m, tile.m)};
  const float keep = weight(old.m, sum.m) * old.l, add = weight(tile.m, sum.m);
  sum.l = keep + add * tile.l;
#pragma unroll
  for (int n = 0; n < D / 64; ++n) {
    const float4 O = load_vector<float4>(kept.four(row, n));
    const auto next = [&](float O_old, float x) { return sum.normalised(keep * O_old + add * x); };
    store_four(kept.four(row, n), next(O.x, PV[4 * n]), next(O.y, PV[4 * n + 1]),
               next(O.z, PV[4 * n + 2]), next(O.w, PV[4 * n + 3]));
  }
  kept.set_state(row, sum);
}

/// Rounds O, which is normalised, and writes it; LSE = m + ln l.
template <class T, int D>
FLASHBOOK_DEVICE void finish(const Workspace<D>& kept, int64_t head_row, const Matrix<T>& to,
                             gmem<float> lse, int n_q) {
  for (int first = 0; first < n_q; first += B_r)
    for (int r = 0; r < fma::thread_rows && first + fma::row(r) < n_q; ++r) {
      const int64_t row = head_row + first + fma::row(r);
      float O[D / 16];
#pragma unroll
      for (int n = 0; n < D / 64; ++n) {
        const float4 four = load_vector<float4>(kept.four(row, n));
        O[4 * n] = four.x, O[4 * n + 1] = four.y, O[4 * n + 2] = four.z, O[4 * n + 3] = four.w;
      }
      fma::store_row(to, first + fma::row(r), O);
      if (fma::x() == 0) lse(row) = kept.state(row).lse();
    }
}

template <class T, int D>
FLASHBOOK_KERNEL(fma::threads)
forward(const ForwardParameters<T> p, const Workspace<D> kept) {
  Smem<D>& smem = shared_memory<Smem<D>>();
  const Visible& visible = p.sizes.visible;
  const int head = blockIdx.x % p.sizes.heads_q, batch = blockIdx.x / p.sizes.heads_q;
  const int64_t head_row = p.sizes.lse_row(batch, head);
  const Range all = {0, visible.n_q}, keys = visible.keys_of(all);

  initialise(kept, head_row, visible.n_q);
  // [loops]
  for (int j = keys.begin / B_c<D> * B_c<D>; j < keys.end; j += B_c<D>) {
    fma::load(smem.K, p.K.of(batch, head / p.sizes.group()), j, keys);
    fma::load(smem.V, p.V.of(batch, head / p.sizes.group()), j, keys);
    const Range rows = visible.rows_of(Range{j, j + B_c<D>});
    for (int i = rows.begin / B_r * B_r; i < rows.end; i += B_r) {
      const Range seen = visible.keys_of(Range{i, i + B_r});  // V also has keys of later rows
      fma::load(smem.Q, p.Q.of(batch, head), i, all);
      // [/loops]
      sync_threads();  // Q, K, V are everybody's; so are m and l of the tile of keys before

      // S = scale Q K^T
      float S[fma::thread_rows][B_c<D> / 16] = {};
      fma::add_product_transposed(S, smem.Q, smem.K, p.sizes.d);
      fma::mask(S, p.sizes, i, j);

      // m~ = rowmax S, P~ = e^(S - m~), l~ = rowsum P~
      RowState old[fma::thread_rows], tile[fma::thread_rows];
#pragma unroll
      for (int r = 0; r < fma::thread_rows; ++r) {
        tile[r].template add<fma::x_threads>(S[r]);
        if (i + fma::row(r) < visible.n_q) old[r] = kept.state(head_row + i + fma::row(r));
      }
      fma::store_weights<T>(smem.P, S);
      sync_warp();  // P's rows, which only this warp reads, are complete; m and l are read

      float PV[fma::thread_rows][D / 16] = {};
      fma::add_product_before(seen.end - j, PV, smem.P, smem.V);
#pragma unroll
      for (int r = 0; r < fma::thread_rows; ++r)
        if (i + fma::row(r) < visible.n_q)
          update(kept, head_row + i + fma::row(r), old[r], tile[r], PV[r]);
      sync_threads();  // nobody reads Q, K and V any more
    }
  }
  finish(kept, head_row, p.O.of(batch, head), p.lse, visible.n_q);
}

/// Floats of the workspace: O, m and l.
inline int64_t workspace_floats(const flashbook_problem& p) {
  return p.batch * p.heads_q * p.n_q * (tile_width(p) + 2);
}

inline LaunchStatus launch_fa1(const flashbook_problem& problem, const ForwardTensors& tensors,
                               void* workspace, void* stream) {
  return with_type(problem, [&]<class T, int D>() {
    const ForwardParameters<T> p = forward_parameters<T>(problem, tensors);
    const int64_t rows = problem.batch * problem.heads_q * problem.n_q;
    const gmem<float> O(static_cast<float*>(workspace), workspace_floats(problem));
    const Workspace<D> kept = {O, O + rows * D, O + rows * (D + 1)};
    return launch_blocks("fa1", problem.batch * problem.heads_q, fma::threads, sizeof(Smem<D>),
                         stream, forward<T, D>, p, kept);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fa1

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel fa1_forward = {
    "fa1",
    "S and P stay on the chip: O, m and l are rescaled in memory, tile of keys by tile",
    [](const flashbook_problem& problem) { return rung_refusal(problem); },
    [](const flashbook_problem& problem) {
      return static_cast<std::size_t>(fa1::workspace_floats(problem)) * sizeof(float);
    },
    fa1::launch_fa1,
    {.nan_rows = fma::rows, .nan_keys = 64}};
}
