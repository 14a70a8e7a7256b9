#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/simt/hopper_tensors.hpp"

// Loads of boxes: where each element goes, what is counted, what is found wrong.

using namespace flashbook;
using namespace flashbook::emulated;
using simt::Category;

namespace {

using Smem = BoxMemory;

void initialise(Smem& smem) {
  if (threadIdx.x == 0) {
    mbarrier_init(smem.full, 1);
    fence_mbarrier_init();
  }
  cluster_sync();
}

template <int rank>
simt::Report load_box(const Tensor& tensor, const int (&at)[rank], std::vector<float>& box,
                      unsigned bytes) {
  box.assign(box_elements, 0);
  return run_block<Smem>(32, [&](Smem& smem) {
    initialise(smem);
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(smem.full, bytes);
      tma_load(smem.box.at(0, 0), tensor.map, at, smem.full);
    }
    mbarrier_wait(smem.full, 0);
    for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(bytes / 4); i += 32)
      std::memcpy(&box[static_cast<std::size_t>(i)], simt::sm->shared() + 4 * i, 4);
  });
}

template <int rank>
void check_loads(const TensorShape& shape, std::initializer_list<std::array<int, rank>> places) {
  Tensor tensor(shape);
  REQUIRE(tensor.status.error == "");
  int elements = 1;
  for (int d = 0; d < rank; ++d) elements *= shape.box[d];
  for (const auto& place : places) {
    int at[rank];
    std::copy(place.begin(), place.end(), at);
    std::vector<float> box;
    CHECK(texts(load_box(tensor, at, box, static_cast<unsigned>(elements) * 4)) == "");
    bool right = true;
    for (int e = 0; e < elements; ++e) {
      int inside[rank], there[rank];
      for (int d = 0, rest = e; d < rank; rest /= shape.box[d++]) {
        inside[d] = rest % shape.box[d];
        there[d] = at[d] + inside[d];
      }
      right = right && box[static_cast<std::size_t>(word_of(shape, inside))] == tensor.at(there);
    }
    CHECK(right);
  }
}

}  // namespace

TEST_CASE("a box lies where the PTX manual says, zeros outside of the tensor") {
  check_loads<2>({2, {64, 40}, {}, {32, 16}, BoxSwizzle::bytes128},
                 {{0, 0}, {32, 8}, {4, 3}, {-4, -2}, {52, 33}, {64, 0}, {0, -16}});
  check_loads<2>({2, {48, 20}, {}, {16, 16}, BoxSwizzle::bytes64}, {{0, 0}, {40, 17}});
  check_loads<2>({2, {20, 20}, {}, {8, 16}, BoxSwizzle::bytes32}, {{0, 0}, {16, -1}});
  check_loads<2>({2, {60, 20}, {}, {36, 9}, BoxSwizzle::none}, {{0, 0}, {-8, 13}});
  check_loads<3>({3, {32, 10, 6}, {}, {32, 8, 3}, BoxSwizzle::bytes128},
                 {{0, 0, 0}, {0, 7, 4}, {-4, -1, -1}});
  check_loads<4>({4, {32, 5, 4, 3}, {}, {32, 3, 2, 2}, BoxSwizzle::bytes128},
                 {{0, 0, 0, 0}, {4, 3, 3, 2}, {0, -1, -1, -1}});
}

TEST_CASE("Swizzle128 is the layout that a load makes, block of columns by block") {
  struct TwoBlocks {
    Tile<float, 16, 64, Swizzle128> tile;
    Mbarrier full;
  };
  Tensor tensor({2, {64, 16}, {}, {32, 16}});
  bool right = true;
  const simt::Report report = run_block<TwoBlocks>(32, [&](TwoBlocks& smem) {
    if (threadIdx.x == 0) {
      mbarrier_init(smem.full, 1);
      fence_mbarrier_init();
      mbarrier_arrive_expect_tx(smem.full, sizeof smem.tile);
      for (const int column : {0, 32})
        tma_load(smem.tile.at(0, column), tensor.map, {column, 0}, smem.full);
    }
    sync_warp();
    mbarrier_wait(smem.full, 0);
    for (int r = 0; r < 16; ++r)
      for (int c = static_cast<int>(threadIdx.x); c < 64; c += 32)
        right = right && smem.tile(r, c) == static_cast<float>(r * 64 + c + 1);
  });
  CHECK(texts(report) == "");
  CHECK(right);
}

TEST_CASE("bytes are counted at their line: of whole boxes; in the tensor, of a multicast once") {
  Tensor tensor({2, {32, 20}, {}, {32, 16}});
  float sums[2] = {};
  const simt::Report report = run_blocks<Smem>(32, 2, [&](Smem& smem) {
    initialise(smem);
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(smem.full, 2048);
      if (cluster_rank() == 1)
        tma_load_multicast(smem.box.at(0, 0), tensor.map, {0, 12}, smem.full, 3);
    }
    mbarrier_wait(smem.full, 0);
    if (threadIdx.x == 0) sums[cluster_rank()] = smem.box(0, 0) + smem.box(0, 8 * 32);
  });
  CHECK(texts(report) == "");
  CHECK(sums[0] == 12 * 32 + 1);  // row 12 begins; row 20 is outside
  CHECK(sums[1] == sums[0]);
  const simt::LineCounts total = report.total();
  CHECK(total.tma == 1);
  CHECK(total.tma_l2_bytes == 8 * 128);
  CHECK(total.tma_load_bytes == 2 * 16 * 128);
}

TEST_CASE("events of the watched block, in their order; of no other") {
  using Kind = simt::Event::Kind;
  const Tensor tensor({2, {32, 16}, {}, {32, 16}});
  simt::Options options;
  options.watched = 1;
  const simt::Report report = run_blocks<Smem>(
      32, 2,
      [&](Smem& smem) {
        initialise(smem);
        if (threadIdx.x > 0) return;
        mbarrier_arrive_expect_tx(smem.full, 2048);
        tma_load(smem.box.at(0, 0), tensor.map, {0, 0}, smem.full);
        mbarrier_wait(smem.full, 0);
      },
      options);
  CHECK(texts(report) == "");
  std::vector<Kind> kinds;
  for (const simt::Event& event : report.events) {
    kinds.push_back(event.kind);
    CHECK(event.mbarrier == offsetof(Smem, full));
    CHECK(event.thread == 0);
    if (event.kind != Kind::load && event.kind != Kind::land) continue;
    CHECK(event.at == 0);
    CHECK(event.bytes == 2048);
    CHECK(event.tensor == static_cast<const void*>(tensor.map.data.begin));
  }
  CHECK(kinds == std::vector<Kind>{Kind::arrive, Kind::load, Kind::wait, Kind::land, Kind::complete,
                                   Kind::pass});
  CHECK(run_blocks<Smem>(32, 2, initialise).events.empty());
}

TEST_CASE("loads used wrongly") {
  Tensor tensor({2, {32, 20}, {}, {32, 16}});
  const auto load = [&](auto kernel) {
    return run_block<Smem>(32, [&](Smem& smem) {
      initialise(smem);
      if (threadIdx.x == 0) kernel(smem);
    });
  };
  const auto start = [&](Smem& smem, int at) {
    mbarrier_arrive_expect_tx(smem.full, 2048);
    tma_load(smem.box.at(0, at), tensor.map, {0, 0}, smem.full);
  };
  CHECK(
      finds(load([&](Smem& smem) { start(smem, 64); }), Category::misaligned, "multiple of 1024"));
  CHECK(finds(load([&](Smem& smem) { start(smem, 1792); }), Category::out_of_bounds,
              "a box of 2048 bytes at byte 7168 of a tile of 8192"));
  CHECK(finds(load([&](Smem& smem) {
                start(smem, 0);
                static_cast<void>(smem.box(0, 5) + 1);
                mbarrier_wait(smem.full, 0);
              }),
              Category::unfinished_copy, "reads"));
  CHECK(finds(load([&](Smem& smem) { start(smem, 0); }), Category::unfinished_copy,
              "leaves and has not waited"));
  CHECK(finds(load([&](Smem& smem) {
                tma_load(smem.box.at(0, 0), tensor.map, {0, 0}, smem.full);
                mbarrier_wait(smem.full, 0);
              }),
              Category::deadlock, "2048 bytes came that nobody announced"));
  CHECK(finds(load([&](Smem& smem) {
                tma_load(smem.box.at(0, 0), tensor.map, {0, 0, 0}, smem.full);
              }),
              Category::invalid, "3 coordinates in a tensor map of 2"));
  for (const int column : {1, -2, 33}) {
    CAPTURE(column);
    CHECK(finds(load([&](Smem& smem) {
                  tma_load(smem.box.at(0, 0), tensor.map, {column, 0}, smem.full);
                }),
                Category::invalid, "no multiple of 16"));
  }
  Tensor larger = tensor;
  larger.map.extent[1] = 100;
  CHECK(finds(load([&](Smem& smem) {
                mbarrier_arrive_expect_tx(smem.full, 2048);
                tma_load(smem.box.at(0, 0), larger.map, {0, 64}, smem.full);
              }),
              Category::out_of_bounds, "the tensor map is larger than its memory"));
}

TEST_CASE("a copy that has landed is unfinished until its own phase is waited for") {
  struct TwoBoxes {
    Tile<float, 1, 512> a, b;
    Mbarrier full, other;
  };
  Tensor tensor({2, {32, 20}, {}, {32, 16}});
  const auto run = [&](bool waits) {
    return run_block<TwoBoxes>(32, [&](TwoBoxes& smem) {
      if (threadIdx.x != 0) return;
      mbarrier_init(smem.full, 1);
      mbarrier_init(smem.other, 1);
      fence_mbarrier_init();
      const auto load = [&](Tile<float, 1, 512>& box, Mbarrier& barrier) {
        mbarrier_arrive_expect_tx(barrier, 2048);
        tma_load(box.at(0, 0), tensor.map, {0, 0}, barrier);
      };
      load(smem.a, smem.full);
      mbarrier_wait(smem.full, 0);
      load(smem.a, smem.full);
      load(smem.b, smem.other);
      mbarrier_wait(smem.other, 0);  // the older copy has landed, too
      if (waits) mbarrier_wait(smem.full, 1);
      static_cast<void>(smem.a(0, 0) + 1);
      if (!waits) mbarrier_wait(smem.full, 1);
    });
  };
  CHECK(texts(run(true)) == "");
  CHECK(finds(run(false), Category::unfinished_copy, "no wait for its writer, a copy"));
}

TEST_CASE("a copy sees an initialised mbarrier only after a fence") {
  Tensor tensor({2, {32, 20}, {}, {32, 16}});
  const auto run = [&](bool fenced) {
    return run_block<Smem>(32, [&](Smem& smem) {
      if (threadIdx.x == 0) {
        mbarrier_init(smem.full, 1);
        if (fenced) fence_mbarrier_init();
        mbarrier_arrive_expect_tx(smem.full, 2048);
        tma_load(smem.box.at(0, 0), tensor.map, {0, 0}, smem.full);
        mbarrier_wait(smem.full, 0);
      }
    });
  };
  CHECK(texts(run(true)) == "");
  CHECK(finds(run(false), Category::race, "no fence_mbarrier_init"));
}
