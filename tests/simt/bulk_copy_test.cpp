#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/simt/hopper_blocks.hpp"
#include "tests/simt/kernel_runs.hpp"

// Copies of boxes: where each element goes, what is counted, what is found wrong.

using namespace flashbook;
using namespace flashbook::emulated;
using simt::Category;

namespace {

constexpr int box_elements = 2048;

struct Smem {
  Tile<float, 1, box_elements> box;  // at the beginning, so aligned for every swizzle
  Mbarrier full;
};

/// Numbers 1, 2, 3 ... of a dense tensor, and its map.
struct Tensor {
  Tensor(const TensorShape& dense) : shape(dense) {
    std::int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d) {
      shape.stride[d] = n;
      n *= shape.extent[d];
    }
    size = n;
    memory = Numbers<float>(static_cast<std::size_t>(n));
    std::iota(memory.data(), memory.data() + n, 1.f);
    status = make_tensor_map(map, memory.view(), shape);
  }
  /// The element there, or 0 outside.
  float at(const int* i) {
    std::int64_t offset = 0;
    for (int d = 0; d < shape.rank; ++d) {
      if (i[d] < 0 || i[d] >= shape.extent[d]) return 0;
      offset += i[d] * shape.stride[d];
    }
    return memory[offset];
  }
  TensorShape shape;
  std::int64_t size;
  Numbers<float> memory{0};
  TensorMap map;
  LaunchStatus status;
};

/// Word of shared memory at which the element of a box lies: its place in reading order, with the
/// 16-byte chunks of 128 bytes exchanged as the PTX manual's tables show.
int word_of(const TensorShape& shape, const int* i) {
  int word = 0, size = 1;
  for (int d = 0; d < shape.rank; ++d) {
    word += i[d] * size;
    size *= shape.box[d];
  }
  const int row = word / 32, chunk = word % 32 / 4;
  int other = chunk;
  if (shape.swizzle == BoxSwizzle::bytes128) other = chunk ^ row % 8;
  if (shape.swizzle == BoxSwizzle::bytes64) other = chunk ^ row % 4;
  if (shape.swizzle == BoxSwizzle::bytes32) other = chunk ^ row % 2;
  return row * 32 + other * 4 + word % 4;
}

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
                 {{0, 0}, {32, 8}, {5, 3}, {-3, -2}, {50, 33}, {64, 0}, {0, -16}});
  check_loads<2>({2, {48, 20}, {}, {16, 16}, BoxSwizzle::bytes64}, {{0, 0}, {40, 17}});
  check_loads<2>({2, {20, 20}, {}, {8, 16}, BoxSwizzle::bytes32}, {{0, 0}, {13, -1}});
  check_loads<2>({2, {60, 20}, {}, {36, 9}, BoxSwizzle::none}, {{0, 0}, {-7, 13}});
  check_loads<3>({3, {32, 10, 6}, {}, {32, 8, 3}, BoxSwizzle::bytes128},
                 {{0, 0, 0}, {0, 7, 4}, {-1, -1, -1}});
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

TEST_CASE("bytes are counted at their line: in the tensor, of a multicast once in L2") {
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
  CHECK(total.tma_load_bytes == 2 * 8 * 128);
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
  Tensor larger = tensor;
  larger.map.extent[1] = 100;
  CHECK(finds(load([&](Smem& smem) {
                mbarrier_arrive_expect_tx(smem.full, 2048);
                tma_load(smem.box.at(0, 0), larger.map, {0, 64}, smem.full);
              }),
              Category::out_of_bounds, "the tensor map is larger than its memory"));
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

// ---- stores

namespace {

/// Fills the box with 1000 + i by all threads, and lets thread 0 store it.
template <class Store>
simt::Report store_box(bool fenced, bool waits, Store store) {
  return run_block<Smem>(64, [&](Smem& smem) {
    for (int i = static_cast<int>(threadIdx.x); i < 512; i += 64)
      smem.box(0, i) = static_cast<float>(1000 + i);
    if (fenced) fence_proxy_async();
    sync_threads();
    if (threadIdx.x != 0) return;
    store(smem);
    bulk_commit();
    if (waits) bulk_wait_read<0>();
  });
}

}  // namespace

TEST_CASE("a box is stored, or added, but for what is outside of the tensor") {
  for (const bool adds : {false, true}) {
    Tensor tensor({2, {40, 20}, {}, {32, 16}, BoxSwizzle::none});
    const simt::Report report = store_box(true, true, [&](Smem& smem) {
      if (adds)
        tma_add(tensor.map, {16, 10}, smem.box.at(0, 0));
      else
        tma_store(tensor.map, {16, 10}, smem.box.at(0, 0));
    });
    CHECK(texts(report) == "");
    CHECK(report.total().tma_store_bytes == 10 * 24 * 4);
    bool right = true;
    const TensorShape rows = {2, {}, {}, {32, 16}, BoxSwizzle::none};
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j < 40; ++j) {
        const float before = static_cast<float>(i * 40 + j + 1);
        const int inside[2] = {j - 16, i - 10};
        float expected = before;
        if (inside[0] >= 0 && inside[1] >= 0)
          expected = (adds ? before : 0) + 1000 + static_cast<float>(word_of(rows, inside));
        right = right && tensor.memory[i * 40 + j] == expected;
      }
    CHECK(right);
  }
}

TEST_CASE("bytes in a row are stored, and added") {
  Numbers<float> x(64);
  std::fill_n(x.data(), 64, 1.f);
  const simt::Report report = store_box(true, true, [&](Smem& smem) {
    bulk_store(x.view() + 4, smem.box.at(0, 0), 32);
    bulk_commit();
    bulk_wait<0>();
    bulk_add(x.view(), smem.box.at(0, 8), 48);
  });
  CHECK(texts(report) == "");
  CHECK(report.total().tma_store_bytes == 80);
  CHECK(x[0] == 1 + 1008);
  CHECK(x[4] == 1000 + 1012);
  CHECK(x[11] == 1007 + 1019);
  CHECK(x[12] == 1);
}

TEST_CASE("stores used wrongly") {
  Tensor tensor({2, {32, 20}, {}, {32, 16}});
  const auto store = [&](Smem& smem) { tma_store(tensor.map, {0, 0}, smem.box.at(0, 0)); };
  CHECK(texts(store_box(true, true, store)) == "");
  CHECK(finds(store_box(false, true, store), Category::race, "no fence_proxy_async"));
  CHECK(finds(store_box(true, false, store), Category::unfinished_copy, "bulk stores"));
  CHECK(finds(store_box(true, true,
                        [&](Smem& smem) {
                          store(smem);
                          smem.box(0, 3) = 1;  // while it is being read
                        }),
              Category::race, "its read by a bulk store of thread 0"));
  CHECK(finds(store_box(true, true,
                        [&](Smem& smem) {
                          bulk_store(gmem<float>(tensor.memory.data(), 32), smem.box.at(0, 0), 24);
                        }),
              Category::invalid, "a multiple of 16"));
  Tensor constant = tensor;
  constant.status =
      make_tensor_map(constant.map, gmem<const float>(tensor.memory.constant()), tensor.shape);
  CHECK(finds(store_box(true, true,
                        [&](Smem& smem) {
                          tma_store(constant.map, {0, 0}, smem.box.at(0, 0));
                        }),
              Category::invalid, "constant"));
}

TEST_CASE("tensor maps that no driver makes are refused in a sentence") {
  const auto error = [](const TensorShape& shape, int offset = 0) {
    Numbers<half> memory(4096);
    TensorMap map;
    return make_tensor_map(map, memory.view() + offset, shape).error;
  };
  CHECK(error({2, {64, 8}, {1, 64}, {64, 8}}) == "");
  CHECK(error({1, {64}, {1}, {64}}).find("1 dimensions") != std::string::npos);
  CHECK(error({2, {64, 8}, {1, 64}, {64, 8}}, 4).find("address") != std::string::npos);
  CHECK(error({2, {64, 8}, {2, 64}, {64, 8}}).find("innermost stride is 2") != std::string::npos);
  CHECK(error({2, {64, 0}, {1, 64}, {64, 8}}).find("extent of 0") != std::string::npos);
  CHECK(error({2, {64, 8}, {1, 60}, {64, 8}}).find("stride of 120 bytes") != std::string::npos);
  CHECK(error({2, {64, 8}, {1, 64}, {64, 257}}).find("box of 257") != std::string::npos);
  CHECK(error({2, {64, 8}, {1, 64}, {32, 8}}).find("swizzle of 128") != std::string::npos);
  CHECK(error({2, {64, 8}, {1, 64}, {4, 8}, BoxSwizzle::none}).find("8 bytes") !=
        std::string::npos);
}
