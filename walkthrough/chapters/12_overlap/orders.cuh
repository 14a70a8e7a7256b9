// Chapter 12: the loop of a consumer in four orders, those of the rungs warp_specialised,
// gemm_softmax_overlap, warpgroup_ping_pong and no_running_maximum, of the steps that they share.
// Each step may write down what it begins and when. For whole tiles of bf16, d = 128, no mask; and
// no_running_maximum's look at what overflowed is left to the rung.
#pragma once

#include "cuda/isa/clock.cuh"
#include "cuda/rules/pipeline.cuh"
#include "walkthrough/chapters/12_overlap/orders.hpp"

namespace flashbook::FLASHBOOK_MACHINE::orders {

using flashbook::orders::Phase, flashbook::orders::Stamp;
using T = bfloat16;
constexpr int D = flashbook::orders::width;
using Shape = PipelineShape<D>;
using Smem = PipelineSmem<T, Shape>;
using RowTileOfBlock = PipelineTile<Shape>;

struct Parameters : TmaParameters<T> {
  gmem<uint2> stamps;  // [consumers][most]
  int most;
};

// [recorder]
/// Of a thread that is `mine`: what it begins, and at which cycle.
struct Recorder {
  gmem<uint2> next;
  bool mine;

  FLASHBOOK_DEVICE void begin(Phase phase) {
    store_if(next, {static_cast<uint32_t>(phase), clock_cycles()}, mine);
    next = next + 1;
  }
};
// [/recorder]

// [steps]
/// The steps of a consumer, for tile t of the keys.
template <bool each_step>
struct Consumer {
  Smem& smem;
  WarpgroupRows here;
  Turns<2> turns;
  Recorder recorder;
  mma::RowBlocks<1> rows;
  float S[1][Shape::B_c / 8][4], O[1][D / 8][4] = {}, factor[1][2];
  uint32_t P[1][Shape::B_c / 16][4];

  FLASHBOOK_DEVICE Consumer(Smem& shared, const Parameters& p, const RowTileOfBlock& tile,
                            int number)
      : smem(shared),
        here(p.sizes, tile, number),
        turns{number},
        recorder{p.stamps + number * p.most, blockIdx.x == gridDim.x / 2 && is_elected()} {}

  FLASHBOOK_DEVICE void begin(Phase phase) {
    if constexpr (each_step) recorder.begin(phase);
  }

  FLASHBOOK_DEVICE void wait_for_turn() {
    begin(Phase::waits_for_turn);
    turns.wait();
  }
  FLASHBOOK_DEVICE void wait_for_K(int t) {
    begin(Phase::waits_for_K);
    smem.K.wait(t);
  }
  FLASHBOOK_DEVICE void start_S(int t) {  // S = Q K^T
    begin(Phase::starts_S);
    wgmma_fence();
    start_QK<T>(S, smem.Q, here.in_tile, smem.K[t]);
  }
  FLASHBOOK_DEVICE void start_O(int t) {  // O = O + P V
    begin(Phase::waits_for_V);
    smem.V.wait(t);
    begin(Phase::starts_O);
    wgmma_fence();
    start_PV<T, D>(O, P, smem.V[t]);
  }
  /// `later`: products that were started after S, and may go on.
  template <int later>
  FLASHBOOK_DEVICE void finish_S(int t) {
    begin(Phase::waits_for_S);
    wgmma_wait<later>(accumulators(S));
    smem.K.release(t);
  }
  FLASHBOOK_DEVICE void finish_O(int t) {
    begin(Phase::waits_for_O);
    wgmma_wait<0>(accumulators(O));
    smem.V.release(t);
  }
  /// P = 2^(c (S - m)), in S's place, with m = max(m, rowmax S). Whether O must follow.
  FLASHBOOK_DEVICE bool weigh() {
    begin(Phase::softmax);
    return weigh_tile(rows, S, factor, here.e);
  }
  /// The same with the m that stands.
  FLASHBOOK_DEVICE void weigh_by_standing_maximum() {
    begin(Phase::softmax);
    rows.weigh(S, here.e);
  }
  FLASHBOOK_DEVICE void make_P(bool follows = false) {
    begin(Phase::softmax);
    if (follows) rows.rescale(O, factor);
    mma::to_left<T>(P, S);
  }
};
// [/steps]

/// As in warp_specialised.
struct OneAfterAnother {
  template <bool each_step>
  FLASHBOOK_DEVICE static void attend(Consumer<each_step>& c, int count) {
    // [one_after_another]
    for (int t = 0; t < count; ++t) {
      c.wait_for_K(t);
      c.start_S(t);
      c.template finish_S<0>(t);
      const bool follows = c.weigh();
      c.make_P(follows);
      c.start_O(t);
      c.finish_O(t);
    }
    // [/one_after_another]
  }
};

/// As in gemm_softmax_overlap.
struct Overlapped {
  template <bool each_step>
  FLASHBOOK_DEVICE static void attend(Consumer<each_step>& c, int count) {
    // [overlapped]
    c.wait_for_K(0);
    c.start_S(0);
    c.template finish_S<0>(0);
    c.weigh();
    c.make_P();
    for (int t = 1; t < count; ++t) {
      c.wait_for_K(t);
      c.start_S(t);
      c.start_O(t - 1);
      c.template finish_S<1>(t);
      const bool follows = c.weigh();  // while O += P V runs
      c.finish_O(t - 1);
      c.make_P(follows);
    }
    c.start_O(count - 1);
    c.finish_O(count - 1);
    // [/overlapped]
  }
};

/// As in warpgroup_ping_pong; or, by a standing maximum, as in no_running_maximum.
template <bool standing_maximum>
struct InTurns {
  template <bool each_step>
  FLASHBOOK_DEVICE static void attend(Consumer<each_step>& c, int count) {
    // [in_turns]
    c.turns.open();
    c.wait_for_K(0);
    c.wait_for_turn();
    c.start_S(0);
    c.turns.pass();
    c.template finish_S<0>(0);
    c.weigh();
    c.make_P();
    for (int t = 1; t < count; ++t) {
      c.wait_for_K(t);
      c.wait_for_turn();
      c.start_S(t);
      c.start_O(t - 1);
      c.turns.pass();
      c.template finish_S<1>(t);
      bool follows = false;
      if constexpr (standing_maximum)
        c.weigh_by_standing_maximum();
      else
        follows = c.weigh();
      c.finish_O(t - 1);
      c.make_P(follows);
    }
    c.start_O(count - 1);
    c.finish_O(count - 1);
    c.turns.close();
    // [/in_turns]
  }
};

template <class Steps, bool each_step>
FLASHBOOK_DEVICE void consume(Smem& smem, const Parameters& p, const RowTileOfBlock& tile,
                              int number) {
  Consumer<each_step> c(smem, p, tile, number);
  mbarrier_wait(smem.full_Q, 0);
  c.recorder.begin(Phase::waits_for_K);
  Steps::attend(c, tile.key_tiles());
  c.recorder.begin(Phase::done);
  mma::store_rows(p, tile.batch, tile.head, c.here.row, c.O[0], c.rows.row[0], c.here.e.scale);
}

template <class Steps, bool each_step>
FLASHBOOK_KERNEL(Shape::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT Parameters p) {
  auto& smem = shared_memory<Smem>();
  const RowTileOfBlock tile(blockIdx.x, p.sizes);
  smem.initialise();
  specialise<Shape>(
      [&] {
        if (threadIdx.x == 0) produce(smem, p, tile);
      },
      [&](int consumer) { consume<Steps, each_step>(smem, p, tile, consumer); });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::orders
