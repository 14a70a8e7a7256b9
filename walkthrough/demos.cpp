#include "walkthrough/demos.hpp"

#include <array>
#include <cmath>
#include <sstream>
#include <vector>

#include "cpu_reference/error.hpp"
#include "walkthrough/chapters/06_first_kernel/transpose.cuh"
#include "walkthrough/chapters/07_barriers_and_races/sums.cuh"
#include "walkthrough/chapters/09_tensor_cores/scores.cuh"
#include "walkthrough/chapters/11_asynchrony/ring.cuh"
#include "walkthrough/chapters/device_array.hpp"

namespace flashbook {
namespace {

namespace rings = emulated::ring;
namespace scores = emulated::scores;
namespace sums = emulated::sums;
namespace transpose = emulated::transpose;
using book::DeviceArray;

/// Every demo's kernel: reads x, writes y.
using Kernel = void (*)(emulated::gmem<const float> x, emulated::gmem<float> y, int n);
using Numbers = DeviceArray<float>;

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

std::string first_wrong(Numbers& y, const std::vector<float>& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (y[i] == exact[i]) continue;
    std::ostringstream out;
    out << "y[" << i << "] is ";
    std::isnan(y[i]) ? out << "NaN" : out << y[i];
    out << ", and should be " << exact[i];
    return out.str();
  }
  return "";
}

DemoRun run(const LaunchShape& shape, const simt::Options& options, Kernel kernel, Numbers& x,
            Numbers& y, int n, const std::vector<float>& exact) {
  simt::Stream stream = {options, {}};
  stream.options.os_threads = 1;  // blocks that race do so in the same way each time
  emulated::launch(shape, &stream, kernel, x.constant(), y.view(), n);
  return {std::move(stream.report), first_wrong(y, exact)};
}

// ---- chapter 6: x holds 0, 1, 2, ...

template <Kernel kernel, std::size_t shared_bytes>
DemoRun transposed(int n, const simt::Options& options) {
  Numbers x(size(n * n), 0), y(size(n * n), std::nanf(""));
  std::vector<float> exact(y.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      exact[size(j * n + i)] = x[size(i * n + j)] = static_cast<float>(i * n + j);
  const unsigned tiles = static_cast<unsigned>(n / transpose::side);
  return run({"transpose", {tiles, tiles}, {transpose::threads}, shared_bytes}, options, kernel, x,
             y, n, exact);
}

template <int columns>
constexpr auto transposed_in_tiles =
    transposed<transpose::tiled<columns>, sizeof(transpose::Smem<columns>)>;

// ---- chapter 7: row r of x holds r, r + 1, r + 2, ...

constexpr int rows = 3;

/// Sums of rows that floats hold exactly.
std::vector<float> fill_rows(Numbers& x, int n) {
  std::vector<float> exact(rows);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < n; ++i) exact[size(r)] += x[size(r * n + i)] = static_cast<float>(r + i);
  return exact;
}

template <Kernel kernel>
DemoRun summed(int n, const simt::Options& options) {
  Numbers x(size(rows * n), 0), y(rows, std::nanf(""));
  const std::vector<float> exact = fill_rows(x, n);
  return run({"sums", {rows}, {sums::threads}, sizeof(sums::Smem)}, options, kernel, x, y, n,
             exact);
}

/// All rows' numbers in y[0].
template <Kernel kernel>
DemoRun totalled(int n, const simt::Options& options) {
  Numbers x(size(rows * n), 0), y(1, 0);
  float total = 0;
  for (const float sum : fill_rows(x, n)) total += sum;
  return run({"sums", {rows}, {sums::threads}, sizeof(sums::Smem)}, options, kernel, x, y, n,
             {total});
}

// ---- chapter 9: x holds 0, 1, 2, 3, 0, ... with a row's number added, or ones

template <class Rows>
DemoRun scored(int n, const simt::Options& options) {
  constexpr int d = scores::side;
  Numbers x(size(n * d), 0), y(size(n * n), std::nanf(""));
  for (int i = 0; i < n * d; ++i) x[size(i)] = static_cast<float>((i + i / d) % 4);
  std::vector<float> exact(y.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int c = 0; c < d; ++c) exact[size(i * n + j)] += x[size(i * d + c)] * x[size(j * d + c)];
  const unsigned blocks = static_cast<unsigned>(n / scores::side);
  return run({"scores", {blocks}, {scores::threads}, sizeof(scores::Smem<Rows>)}, options,
             scores::scores<Rows>, x, y, n, exact);
}

template <bool rounds>
DemoRun ones_summed(int n, const simt::Options& options) {
  Numbers x(size(n), 1), y(1, std::nanf(""));
  return run({"column_sum", {1}, {32}}, options, scores::column_sum<rounds>, x, y, n,
             {static_cast<float>(n)});
}

// ---- chapter 11: n tiles of x, which holds 0, 1, ..., 6, 0, ...

template <rings::Produce& produce, rings::Consume& consume, rings::Finish& finish>
DemoRun ringed(int n, const simt::Options& options) {
  constexpr std::size_t columns = rings::columns, tile = rings::rows * columns;
  constexpr std::size_t half = tile / rings::consumers;
  Numbers x(size(n) * tile, 0), y(rings::consumers * columns, std::nanf(""));
  std::vector<float> exact(y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    exact[i % tile / half * columns + i % columns] += x[i] = static_cast<float>(i % 7);
  simt::Stream stream = {options, {}};
  rings::start(rings::sums<produce, consume, finish>, x.constant(), y.view(), n, &stream);
  return {std::move(stream.report), first_wrong(y, exact), x.data()};
}

constexpr std::array<Demo, 21> all = {{
    {"transpose_direct", "y = x^T, element by element", 64, 32, 1024,
     transposed<transpose::direct, 0>},
    {"transpose_tiled", "y = x^T through tiles in shared memory", 64, 32, 1024,
     transposed_in_tiles<32>},
    {"transpose_padded", "y = x^T through tiles of padded rows", 64, 32, 1024,
     transposed_in_tiles<33>},
    {"sum", "sums of rows", 100, 1, 128, summed<sums::sum>},
    {"no_barrier", "sums of rows, a barrier missing", 100, 1, 128, summed<sums::no_barrier>},
    {"part_of_a_warp", "sums of rows, a shuffle by some lanes", 100, 1, 128,
     summed<sums::part_of_a_warp>},
    {"left_early", "sums of rows, a warp that leaves before a barrier", 96, 1, 128,
     summed<sums::left_early>},
    {"no_wait", "sums of rows, a copy not waited for", 100, 4, 128, summed<sums::no_wait>},
    {"no_zeros", "sums of rows, shared memory past the end left alone", 100, 1, 128,
     summed<sums::no_zeros>},
    {"not_atomic", "the sum of all rows, blocks adding to one number", 100, 1, 128,
     totalled<sums::not_atomic>},
    {"scores_plain", "S = X X^T by tensor cores, plain rows", 128, 64, 512, scored<scores::Plain>},
    {"scores_padded", "S = X X^T by tensor cores, padded rows", 128, 64, 512,
     scored<scores::Padded>},
    {"scores_swizzled", "S = X X^T by tensor cores, swizzled rows", 128, 64, 512,
     scored<scores::Swizzled>},
    {"sum_fp32", "a sum of ones by tensor cores", 8192, 16, 65536, ones_summed<false>},
    {"sum_bf16", "a sum of ones by tensor cores, rounded to bf16 as it grows", 8192, 16, 65536,
     ones_summed<true>},
    {"ring", "sums of tiles, copied ahead in a ring of two stages", 5, 1, 128,
     ringed<rings::produce, rings::consume, rings::finish>},
    {"released_early", "sums of tiles, a stage given back before it is read", 5, 1, 128,
     ringed<rings::produce, rings::release_early, rings::finish>},
    {"wrong_phase", "sums of tiles, the same phase awaited each time", 5, 1, 128,
     ringed<rings::produce, rings::wait_for_phase_0, rings::finish>},
    {"nothing_expected", "sums of tiles, bytes that nobody announces", 5, 1, 128,
     ringed<rings::expect_nothing, rings::consume, rings::finish>},
    {"too_many_bytes", "sums of tiles, more bytes announced than come", 5, 1, 128,
     ringed<rings::expect_too_much, rings::consume, rings::finish>},
    {"no_proxy_fence", "sums of tiles, stored by a copy with no fence before", 5, 1, 128,
     ringed<rings::produce, rings::consume, rings::finish_without_fence>},
}};

}  // namespace

std::span<const Demo> demos() {
  return all;
}

const Demo& find_demo(const std::string& name) {
  std::string known;
  for (const Demo& demo : all) {
    if (demo.name == name) return demo;
    known += (known.empty() ? "" : ", ") + std::string(demo.name);
  }
  throw InputError("KERNEL is '" + name + "', which no chapter has: pass " + known);
}

}  // namespace flashbook
