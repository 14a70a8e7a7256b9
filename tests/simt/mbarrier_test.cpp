#include <doctest/doctest.h>

#include "tests/simt/hopper_blocks.hpp"

// mbarriers, clusters and the register pool: what they order, and what is found wrong.

using namespace flashbook;
using namespace flashbook::emulated;
using simt::Category;

namespace {

struct Box {
  Tile<float, 1, 4> value;
  Mbarrier barrier, back;
};

void initialise(Mbarrier& barrier, int arrivals) {
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, arrivals);
    fence_mbarrier_init();
  }
  sync_threads();
}

bool is_first_warp() {
  return threadIdx.x < 32;
}

}  // namespace

TEST_CASE("an mbarrier orders what was written before it, phase by phase") {
  float got[2] = {};
  const simt::Report report = run_block<Box>(64, [&](Box& box) {
    initialise(box.barrier, 32);
    for (unsigned phase = 0; phase < 2; ++phase) {
      if (is_first_warp()) {
        if (threadIdx.x == 0) box.value(0, 0) = static_cast<float>(10 + phase);
        mbarrier_arrive(box.barrier);
      } else {
        CHECK(mbarrier_try_wait(box.barrier, phase));
        if (threadIdx.x == 32) got[phase] = box.value(0, 0);
      }
      sync_threads();
    }
  });
  CHECK(texts(report) == "");
  CHECK(got[0] == 10);
  CHECK(got[1] == 11);
}

TEST_CASE("what follows an arrival is not ordered by it, nor what another parity waits for") {
  CHECK(finds(run_block<Box>(64,
                             [](Box& box) {
                               initialise(box.barrier, 32);
                               if (is_first_warp()) {
                                 mbarrier_arrive(box.barrier);
                                 if (threadIdx.x == 0) box.value(0, 0) = 1;
                               } else {
                                 mbarrier_wait(box.barrier, 0);
                                 box.value(0, 0) = 2;
                               }
                             }),
              Category::race, "no barrier since it was written"));
  CHECK(finds(run_block<Box>(64,
                             [](Box& box) {
                               if (threadIdx.x == 0) box.value(0, 0) = 1;
                               initialise(box.barrier, 1);
                               if (!is_first_warp()) {           // which comes first
                                 mbarrier_wait(box.barrier, 1);  // of the phase before: complete
                                 static_cast<void>(box.value(0, 0) + 1);
                               } else if (threadIdx.x == 0) {
                                 box.value(0, 0) = 2;
                                 mbarrier_arrive(box.barrier);
                               }
                             }),
              Category::race, "no barrier since it was read"));
}

TEST_CASE("a standstill says what the mbarrier lacks") {
  const auto waits = [](int arrivals, uint32_t bytes) {
    return run_block<Box>(64, [=](Box& box) {
      initialise(box.barrier, arrivals);
      if (threadIdx.x == 0) mbarrier_arrive_expect_tx(box.barrier, bytes);
      if (!is_first_warp()) mbarrier_wait(box.barrier, 0);
    });
  };
  CHECK(texts(waits(1, 0)) == "");
  CHECK(finds(waits(2, 0), Category::deadlock, "the mbarrier at byte 16 has 1 of 2 arrivals)"));
  CHECK(finds(waits(1, 64), Category::deadlock, "64 announced bytes have not come"));
}

TEST_CASE("mbarriers used wrongly") {
  CHECK(finds(run_block<Box>(32, [](Box& box) { mbarrier_arrive(box.barrier); }), Category::invalid,
              "nobody has initialised"));
  CHECK(finds(run_block<Box>(32,
                             [](Box& box) {
                               initialise(box.barrier, 1);
                               if (threadIdx.x == 0) mbarrier_expect_tx(box.barrier, 16);
                               if (threadIdx.x < 2) mbarrier_arrive(box.barrier);
                             }),
              Category::invalid, "more arrivals"));
  CHECK(finds(run_block<Box>(64,
                             [](Box& box) {
                               if (threadIdx.x == 0) mbarrier_init(box.barrier, 64);
                               mbarrier_arrive(box.barrier);
                             }),
              Category::race, "no barrier since it was written by thread 0"));
  CHECK(finds(run_block<Box>(32, [](Box& box) { initialise(box.barrier, 0); }), Category::invalid,
              "1 to 2^20 - 1 arrivals"));
  Mbarrier elsewhere;
  CHECK(finds(run_block<Box>(32, [&](Box&) { mbarrier_init(elsewhere, 1); }), Category::invalid,
              "not in the block's shared memory"));
}

// ---- clusters

namespace {

/// Each block hands `value` on, by an arrival at its neighbour's mbarrier.
void hand_on(Box& box, bool stays) {
  const unsigned peer = cluster_rank() ^ 1;
  if (threadIdx.x == 0) {
    mbarrier_init(box.barrier, 1);
    fence_mbarrier_init();
  }
  cluster_sync();
  if (threadIdx.x == 0) mbarrier_arrive_at(box.barrier, peer);
  if (cluster_rank() == 0 || stays) mbarrier_wait(box.barrier, 0);
}

}  // namespace

TEST_CASE("blocks of a cluster run together and arrive at each other's mbarriers") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    simt::Options options;
    options.seed = seed;
    const auto stay = [](Box& box) { hand_on(box, true); };
    CHECK(texts(run_blocks<Box>(64, 2, stay, options)) == "");
    const auto leave = [](Box& box) { hand_on(box, false); };
    CHECK(finds(run_blocks<Box>(64, 2, leave, options), Category::departed,
                "arrives at an mbarrier of block 1"));
  }
}

TEST_CASE("a cluster's barrier waits for all blocks, and for no thread that has left") {
  unsigned before = 0, after = 0;
  const simt::Report report = run_blocks<Box>(64, 4, [&](Box&) {
    if (threadIdx.x >= 32 && cluster_rank() == 2) return;
    ++before;
    cluster_arrive();
    cluster_wait();
    after += before == 4 * 64 - 32;
  });
  CHECK(texts(report) == "");
  CHECK(after == 4 * 64 - 32);
  CHECK(finds(run_blocks<Box>(32, 2, [](Box&) { cluster_wait(); }), Category::invalid,
              "has not arrived"));
  CHECK(
      finds(run_blocks<Box>(32, 2, [](Box&) { mbarrier_arrive_at(shared_memory<Box>().back, 2); }),
            Category::invalid, "block 2 of a cluster of 2"));
}

TEST_CASE("clusters that no GPU accepts are refused") {
  for (const auto& [grid, cluster] : {std::pair(6u, 4u), {16u, 16u}, {4u, 0u}}) {
    simt::LaunchShape shape = {"kernel", {grid}, {32}};
    shape.cluster = cluster;
    CHECK(finds(simt::launch(shape, {}, [] {}), Category::invalid, "clusters of"));
  }
}

// ---- registers

TEST_CASE("registers go from one warpgroup to the others") {
  bool first_gave = false, right = true;
  const simt::Report report = run_block<Box>(384, [&](Box&) {
    if (threadIdx.x >= 256) {
      first_gave = true;
      decrease_registers<24>();
    } else {
      increase_registers<240>();
      right = right && first_gave;
    }
  });
  CHECK(texts(report) == "");
  CHECK(right);
}

TEST_CASE("registers that nobody gives back are waited for in vain") {
  CHECK(finds(run_block<Box>(384,
                             [](Box&) {
                               if (threadIdx.x < 128)
                                 decrease_registers<32>();
                               else
                                 increase_registers<240>();  // 18432 are needed, 17408 free
                             }),
              Category::deadlock, "wait in setmaxnreg"));
  CHECK(finds(run_block<Box>(128, [](Box&) { decrease_registers<20>(); }), Category::invalid,
              "multiples of 8 from 24 to 256"));
  CHECK(finds(run_block<Box>(384, [](Box&) { increase_registers<24>(); }), Category::invalid,
              "the wrong way from 168"));
  CHECK(finds(run_block<Box>(384,
                             [](Box&) {
                               if (threadIdx.x < 64) decrease_registers<24>();
                             }),
              Category::divergence, "warpgroup 0 never comes together"));
}
