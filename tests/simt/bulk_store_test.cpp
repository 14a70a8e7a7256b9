#include <doctest/doctest.h>

#include <algorithm>

#include "tests/simt/hopper_tensors.hpp"

// Stores of boxes and of rows of bytes, and tensor maps that are refused.

using namespace flashbook;
using namespace flashbook::emulated;
using simt::Category;

namespace {

using Smem = BoxMemory;

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

TEST_CASE("no store begins before its tensor, or off 16 bytes, as no GPU does it") {
  Tensor tensor({3, {32, 10, 6}, {}, {32, 4, 3}});
  const auto store_at = [&](int x, int y, int z, bool adds) {
    return store_box(true, true, [&](Smem& smem) {
      if (adds)
        tma_add(tensor.map, {x, y, z}, smem.box.at(0, 0));
      else
        tma_store(tensor.map, {x, y, z}, smem.box.at(0, 0));
    });
  };
  for (const bool adds : {false, true}) {
    CAPTURE(adds);
    CHECK(texts(store_at(32, 10, 6, adds)) == "");
    CHECK(finds(store_at(-4, 0, 0, adds), Category::invalid, "a store at -4 in dimension 0"));
    CHECK(finds(store_at(0, -1, 0, adds), Category::invalid, "a store at -1 in dimension 1"));
    CHECK(finds(store_at(0, 0, -3, adds), Category::invalid, "a store at -3 in dimension 2"));
    CHECK(finds(store_at(2, 0, 0, adds), Category::invalid, "from byte 8 of the innermost"));
  }
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
