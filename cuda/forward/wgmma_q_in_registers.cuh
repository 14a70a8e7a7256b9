// warpgroup_ping_pong with Q in registers: a left operand of wgmma may be, and Q is the same for
// all tiles of keys. Each of the k-steps of S = Q K^T then reads K from shared memory and not Q. At
// d = 256 the registers hold O, S and P, and Q stays where it is.
//
// Predicted against warpgroup_ping_pong: 1.02 times faster at d = 128, as a sketch of both measured
// on an H200 (utilisation .823 and .839, there in clusters): shared memory gives 128 bytes a cycle,
// of which S took a quarter for Q. The power that reads less goes to the clock.
#pragma once

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::wgmma_q_in_registers {

/// Whether the registers hold Q beside O, S and P.
template <int D>
constexpr bool keeps_Q = D <= 128;

template <class T, int D>
FLASHBOOK_DEVICE void consume(PipelineSmem<T, PipelineShape<D>>& smem, const TmaParameters<T>& p,
                              const PipelineTile<PipelineShape<D>>& tile, int consumer) {
  constexpr int B_c = PipelineShape<D>::B_c;
  const WarpgroupRows here(p.sizes, tile, consumer);
  const Exponents& e = here.e;
  float O[1][D / 8][4] = {};
  mma::RowBlocks<1> rows;
  const Turns<2> turns = {consumer};

  const int count = tile.key_tiles();
  if (count > 0) {
    // P of the first tile: nothing runs beside it yet
    float S[1][B_c / 8][4], factor[1][2];
    uint32_t P[1][B_c / 16][4];
    mma::Operand<D> Q;
    const auto start_S = [&](int t) {
      if constexpr (keeps_Q<D>)
        start_QK<T, D>(S, Q, smem.K[t]);
      else
        start_QK<T>(S, smem.Q, here.in_tile, smem.K[t]);
    };
    mbarrier_wait(smem.full_Q, 0);
    if constexpr (keeps_Q<D>) load_Q(Q, smem.Q, here.in_tile);
    turns.open();
    smem.K.wait(0);
    turns.wait();
    wgmma_fence();
    start_S(0);
    turns.pass();
    wgmma_wait<0>(accumulators(S));
    smem.K.release(0);
    here.mask(S, tile.first_key(0));
    weigh_tile(rows, S, factor, e);
    mma::to_left<T>(P, S);

    for (int t = 1; t < count; ++t) {
      // S = Q K^T, O = O + P V of the tile before
      smem.K.wait(t);
      turns.wait();
      wgmma_fence();
      start_S(t);
      smem.V.wait(t - 1);
      start_PV<T, D>(O, P, smem.V[t - 1]);
      turns.pass();
      wgmma_wait<1>(accumulators(S));
      smem.K.release(t);

      // P = 2^(c (S - m)), while the tensor cores add to O
      here.mask(S, tile.first_key(t));
      const bool follows = weigh_tile(rows, S, factor, e);
      wgmma_wait<0>(accumulators(O));
      smem.V.release(t - 1);
      if (follows) rows.rescale(O, factor);
      mma::to_left<T>(P, S);
    }
    // O = O + P V of the last tile
    smem.V.wait(count - 1);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V[count - 1]);
    wgmma_wait<0>(accumulators(O));
    turns.close();
  }
  mma::store_rows(p, tile.batch, tile.head, here.row, O[0], rows.row[0], e.scale);
}

template <class T, int D>
FLASHBOOK_KERNEL(PipelineShape<D>::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT TmaParameters<T> p) {
  auto& smem = shared_memory<PipelineSmem<T, PipelineShape<D>>>();
  const PipelineTile<PipelineShape<D>> tile(blockIdx.x, p.sizes);
  smem.initialise();
  specialise<PipelineShape<D>>(
      [&] {
        if (threadIdx.x == 0) produce(smem, p, tile);
      },
      [&](int consumer) { consume<T, D>(smem, p, tile, consumer); });
}

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  return launch_pipeline<T, PipelineShape<D>>("wgmma_q_in_registers", problem, tensors, stream,
                                              forward<T, D>);
}

inline LaunchStatus launch_wgmma_q_in_registers(const flashbook_problem& problem,
                                                const ForwardTensors& tensors, void*,
                                                void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::wgmma_q_in_registers

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel wgmma_q_in_registers_forward = {
    "wgmma_q_in_registers",
    "Q is read from shared memory once, for wgmma",
    [](const flashbook_problem& p) { return hopper_rung_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    wgmma_q_in_registers::launch_wgmma_q_in_registers,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
