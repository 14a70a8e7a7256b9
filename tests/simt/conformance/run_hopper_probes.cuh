// Runs every probe of Hopper's vocabulary on the machine this is compiled for.
#pragma once

#include <bit>
#include <utility>

#include "tests/simt/conformance/hopper_probes.cuh"
#include "tests/simt/conformance/run_probes.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Memory: as ProbeLauncher's.
template <class Memory>
class HopperProbeRun : public ProbeLauncher<Memory> {
 public:
  using ProbeLauncher<Memory>::ProbeLauncher;
  static constexpr int random_n = 32;  ///< columns of the products of random numbers

  std::vector<flashbook::probes::Result> all() {
    run("mbarriers", probes::mbarriers, {"", {1}, {64}, sizeof(probes::BoxSmem)},
        flashbook::probes::random_words(32, 11), 320);
    load_boxes();
    multicast(2);
    multicast(4);
    store_boxes();
    rows();
    begin_where_no_box_may();
    constexpr std::integer_sequence<int, 8, 16, 24, 40, 64, 80, 96, 128, 176, 192, 256> shapes;
    multiply_all<half>("fp16", flashbook::probes::Type::fp16, shapes);
    multiply_all<bfloat16>("bf16", flashbook::probes::Type::bf16, shapes);
    return results_;
  }

 private:
  using Base = ProbeLauncher<Memory>;
  using Base::begin, Base::end, Base::memory_, Base::must_fail, Base::require, Base::results_,
      Base::size, Base::start;
  using typename Base::Words;

  void run(const std::string& name, void (*kernel)(probes::Parameters), const LaunchShape& shape,
           const Words& in, int words_out) {
    if (!begin(name)) return;
    uint32_t* out = memory_.zeros(words_out);
    start(kernel, shape, probes::Parameters{{memory_.upload(in), size(in)}, {out, words_out}, 0});
    end(out, words_out);
  }

  // ---- boxes

  static TensorShape dense(TensorShape shape) {
    shape.stride[0] = 1;
    for (int d = 1; d < shape.rank; ++d)
      shape.stride[d] = shape.stride[d - 1] * shape.extent[d - 1];
    return shape;
  }
  static int words_of(const TensorShape& shape, int element_bytes, bool of_box) {
    std::int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d) n *= of_box ? shape.box[d] : shape.extent[d];
    return static_cast<int>(n * element_bytes / 4);
  }

  template <class T, int rank>
  void load(const std::string& name, TensorShape shape, const std::vector<int>& places) {
    if (!begin(name)) return;
    shape = dense(shape);
    const int words = words_of(shape, sizeof(T), false), box = words_of(shape, sizeof(T), true);
    T* const data = reinterpret_cast<T*>(memory_.upload(flashbook::probes::random_words(
        static_cast<std::size_t>(words), static_cast<unsigned>(words))));
    probes::TensorParameters p = {};
    require(make_tensor_map(p.map, gmem<const T>(data, words * 4 / static_cast<int>(sizeof(T))),
                            shape));
    const Words in(places.begin(), places.end());
    p.in = {memory_.upload(in), size(in)};
    p.n = size(in) / rank;
    p.box_words = box;
    uint32_t* out = memory_.zeros(p.n * box);
    p.out = {out, p.n * box};
    start(probes::boxes<rank>, {"", {1}, {32}, sizeof(probes::BoxSmem)}, p);
    end(out, p.n * box);
  }

  void load_boxes() {
    load<half, 2>("box_2d_128", {2, {136, 40}, {}, {64, 16}, BoxSwizzle::bytes128},
                  {0, 0, 64, 8, 8, 3, -8, -2, 104, 33});
    const TensorShape of_rows = {2, {136, 40}, {}, {64, 16}, BoxSwizzle::bytes128};
    load<half, 2>("box_outside_rows", of_rows, {0, -16, 64, 40});
    load<half, 2>("box_outside_columns", of_rows, {136, 0, -64, 3});
    load<bfloat16, 2>("box_2d_64", {2, {48, 20}, {}, {32, 16}, BoxSwizzle::bytes64},
                      {0, 0, 16, 17, -8, 1});
    load<half, 2>("box_2d_32", {2, {24, 20}, {}, {16, 16}, BoxSwizzle::bytes32},
                  {0, 0, 8, 7, 16, -1});
    load<float, 2>("box_2d_plain", {2, {60, 20}, {}, {36, 9}, BoxSwizzle::none},
                   {0, 0, -8, 13, 32, 2});
    load<float, 3>("box_3d_128", {3, {40, 10, 6}, {}, {32, 8, 3}, BoxSwizzle::bytes128},
                   {0, 0, 0, 8, 7, 4, -4, -1, -1});
    load<bfloat16, 4>("box_4d_128", {4, {72, 5, 4, 3}, {}, {64, 3, 2, 2}, BoxSwizzle::bytes128},
                      {0, 0, 0, 0, 8, 3, 3, 2, 0, -1, -1, -1});
  }

  /// Boxes of 8 rows of 128 bytes, the first of which begins 4 rows before the tensor.
  void multicast(unsigned blocks) {
    if (!begin("multicast_" + std::to_string(blocks))) return;
    const TensorShape shape = dense({2, {32, 16}, {}, {32, 8}, BoxSwizzle::bytes128});
    auto* const data =
        reinterpret_cast<float*>(memory_.upload(flashbook::probes::random_words(512, 12)));
    probes::TensorParameters p = {};
    require(make_tensor_map(p.map, gmem<const float>(data, 512), shape));
    p.n = static_cast<int>(blocks);
    p.box_words = 256;
    const int words = p.n * p.n * p.box_words;
    uint32_t* out = memory_.zeros(words);
    p.out = {out, words};
    LaunchShape launch_shape = {"", {blocks}, {32}, sizeof(probes::BoxSmem)};
    launch_shape.cluster = blocks;
    start(probes::multicast, launch_shape, p);
    end(out, words);
  }

  // ---- stores

  static uint32_t number(int i) { return std::bit_cast<uint32_t>(static_cast<float>(i)); }

  template <int rank, bool adds>
  void store(const std::string& name, TensorShape shape, const std::vector<int>& places) {
    if (!begin(name)) return;
    shape = dense(shape);
    const int words = words_of(shape, 4, false), box = words_of(shape, 4, true);
    Words before, in(places.begin(), places.end());
    for (int i = 0; i < words; ++i) before.push_back(number(i));
    for (int i = 0; i < box; ++i) in.push_back(number(3 * i + 1));
    uint32_t* data = memory_.upload(before);
    probes::TensorParameters p = {};
    require(make_tensor_map(p.map, gmem<float>(reinterpret_cast<float*>(data), words), shape));
    p.in = {memory_.upload(in), size(in)};
    p.n = static_cast<int>(places.size()) / rank;
    p.box_words = box;
    start(probes::stores<rank, adds>, {"", {1}, {32}, probes::box_words * 4}, p);
    end(data, words);
  }

  void store_boxes() {
    store<2, false>("store_2d_128", {2, {40, 20}, {}, {32, 8}, BoxSwizzle::bytes128},
                    {0, 0, 12, 15});
    store<3, false>("store_3d_64", {3, {20, 6, 4}, {}, {16, 4, 2}, BoxSwizzle::bytes64},
                    {0, 0, 0, 8, 4, 3});
    store<4, false>("store_4d_plain", {4, {12, 4, 3, 3}, {}, {8, 2, 2, 2}, BoxSwizzle::none},
                    {0, 0, 0, 0, 4, 3, 2, 2});
    store<2, false>("store_outside", {2, {40, 20}, {}, {32, 8}, BoxSwizzle::bytes128},
                    {0, 20, 40, 0, 80, 40});
    store<2, true>("add_2d_128", {2, {40, 20}, {}, {32, 8}, BoxSwizzle::bytes128},
                   {0, 0, 12, 15, 0, 0});
    store<3, true>("add_3d_32", {3, {16, 6, 4}, {}, {8, 4, 2}, BoxSwizzle::bytes32},
                   {0, 0, 0, 8, 4, 3, 0, 0, 1});
    store<4, true>("add_4d_plain", {4, {12, 4, 3, 3}, {}, {8, 2, 2, 2}, BoxSwizzle::none},
                   {0, 0, 0, 0, 4, 3, 2, 2});
  }

  void rows() {
    if (!begin("bulk_rows")) return;
    Words in, before;
    for (int i = 0; i < 256; ++i) {
      in.push_back(number(5 * i - 300));
      before.push_back(number(i));
    }
    uint32_t* data = memory_.upload(before);
    start(probes::rows, {"", {1}, {32}, 1024}, probes::Parameters{{memory_.upload(in), 256}, {}, 0},
          gmem<float>(reinterpret_cast<float*>(data), 256));
    end(data, 256);
  }

  /// Answered by an illegal instruction: a box off 16 bytes of the innermost dimension, and a store
  /// that begins before its tensor. Each ends its child.
  void begin_where_no_box_may() {
    const TensorShape halves = {2, {136, 40}, {}, {64, 16}, BoxSwizzle::bytes128};
    const TensorShape floats = {2, {60, 20}, {}, {36, 9}, BoxSwizzle::none};
    const TensorShape deep = {3, {40, 10, 6}, {}, {32, 8, 3}, BoxSwizzle::bytes128};
    must_fail([&] { load<half, 2>("illegal_load_column_4", halves, {4, 0}); });
    must_fail([&] { load<half, 2>("illegal_load_column_-4", halves, {-4, 0}); });
    must_fail([&] { load<half, 2>("illegal_load_column_132", halves, {132, 0}); });
    must_fail([&] { load<float, 2>("illegal_load_plain_column_2", floats, {2, 0}); });
    must_fail([&] { store<2, false>("illegal_store_column_2", floats, {2, 0}); });
    must_fail([&] { store<2, false>("illegal_store_column_-4", floats, {-4, 0}); });
    must_fail([&] { store<3, false>("illegal_store_row_-1", deep, {0, -1, 0}); });
    must_fail([&] { store<3, false>("illegal_store_depth_-3", deep, {0, 0, -3}); });
    must_fail([&] { store<3, true>("illegal_add_row_-1", deep, {0, -1, 0}); });
  }

  // ---- products

  template <class T, int... shapes>
  void multiply_all(const std::string& type_name, flashbook::probes::Type type,
                    std::integer_sequence<int, shapes...>) {
    using flashbook::probes::Values;
    (multiply_forms<T, shapes, 4, true>(type_name + "_integers_", type, Values::integers), ...);
    multiply_forms<T, random_n, 1, false>(type_name + "_random_", type, Values::random);
  }

  template <class T, int n, int steps, bool hashed>
  void multiply_forms(const std::string& name, flashbook::probes::Type type,
                      flashbook::probes::Values values) {
    const Words in =
        flashbook::probes::words_of(flashbook::probes::make_wgmma_problem(n, type, values), type);
    const std::string prefix = "wgmma_" + name + std::to_string(n);
    const LaunchShape shape = {"", {1}, {128}, sizeof(probes::WgmmaSmem<T, n>)};
    const int words = hashed ? 128 : 64 * n;
    run(prefix + "_ss", probes::wgmmas<T, n, 0, steps, hashed>, shape, in, words);
    run(prefix + "_rs", probes::wgmmas<T, n, 1, steps, hashed>, shape, in, words);
    run(prefix + "_ss_trans", probes::wgmmas<T, n, 2, steps, hashed>, shape, in, words);
    run(prefix + "_rs_trans", probes::wgmmas<T, n, 3, steps, hashed>, shape, in, words);
  }
};

}  // namespace flashbook::FLASHBOOK_MACHINE
