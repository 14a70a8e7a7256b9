#include <vector>

#include "answer.hpp"
#include "cpu_reference/attention_problem.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace {

using namespace flashbook;
using namespace emulated::orders;
using book::DeviceArray;
using emulated::from_float, emulated::to_float;
using Numbers = DeviceArray<T>;

constexpr int rows = flashbook::orders::tile_rows, keys = flashbook::orders::tile_keys;

void fill(Numbers& x, unsigned state) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    state = state * 1664525 + 1013904223;
    x[i] = from_float<T>(static_cast<float>(state >> 16 & 0xff) / 64 - 2);
  }
}

/// Element [row, column] of a tensor [N, D].
double element(Numbers& x, int row, int column) {
  return to_float(x[static_cast<std::size_t>(row * D + column)]);
}

/// O of one row, in double.
std::vector<double> exact_row(Numbers& Q, Numbers& K, Numbers& V, int row, int n) {
  std::vector<double> O(D);
  double l = 0;
  for (int j = 0; j < n; ++j) {
    double s = 0;
    for (int c = 0; c < D; ++c) s += element(Q, row, c) * element(K, j, c);
    const double weight = std::exp(s / std::sqrt(D));
    l += weight;
    for (int c = 0; c < D; ++c) O[static_cast<std::size_t>(c)] += weight * element(V, j, c);
  }
  for (double& o : O) o /= l;
  return O;
}

struct Attention {
  Numbers Q, K, V, O;
  DeviceArray<float> lse;
  DeviceArray<emulated::uint2> stamps;
  flashbook_problem problem;

  explicit Attention(int tiles)
      : Q(rows * D, T{}),
        K(static_cast<std::size_t>(tiles * keys * D), T{}),
        V(K.size(), T{}),
        O(rows * D, from_float<T>(std::nanf(""))),
        lse(rows, std::nanf("")),
        stamps(flashbook::orders::consumers * flashbook::orders::most_stamps(tiles), {~0u, 0}),
        problem(dense_problem(1, 1, 1, rows, tiles * keys, D, D)) {
    problem.dtype = FLASHBOOK_BF16;
    fill(Q, 1);
    fill(K, 2);
    fill(V, 3);
  }

  simt::Report run(const simt::Options& options) {
    const ForwardTensors tensors = {Q.data(), K.data(), V.data(), O.data(), lse.data()};
    Parameters p = {};
    if (!emulated::make_tma_parameters<T>(p, problem, tensors, {rows, keys}).ok()) return {};
    p.most = static_cast<int>(stamps.size()) / flashbook::orders::consumers;
    p.stamps = stamps.view();
    simt::Stream stream = {options, {}};
    emulated::launch_blocks("attend", 1, Shape::threads, sizeof(Smem), &stream,
                            forward<Answer, true>, p);
    return std::move(stream.report);
  }
  bool is_right() {
    bool right = true;
    for (const int row : {0, 77, rows - 1}) {
      const std::vector<double> exact = exact_row(Q, K, V, row, static_cast<int>(problem.n_k));
      for (int c = 0; c < D; ++c) {
        right = right && std::abs(element(O, row, c) - exact[static_cast<std::size_t>(c)]) <= .02;
      }
    }
    return right;
  }
  /// Stretches of softmax that a consumer began with O += P V under way.
  int overlapped(int consumer) {
    int count = 0;
    bool runs = false;
    for (std::size_t i = 0, most = stamps.size() / flashbook::orders::consumers; i < most; ++i) {
      const auto phase =
          static_cast<Phase>(stamps[static_cast<std::size_t>(consumer) * most + i].x);
      if (phase == Phase::done) break;
      runs = (runs || phase == Phase::starts_O) && phase != Phase::waits_for_O;
      count += runs && phase == Phase::softmax;
    }
    return count;
  }
};

void judge_tiles(book::KernelJudge& judge, int tiles) {
  const std::string where = std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles");
  Attention attention(tiles);
  judge.right_and_silent(where, [&](const simt::Options& options) {
    simt::Report report = attention.run(options);
    return book::KernelRun{std::move(report), attention.is_right()};
  });
  for (int consumer = 0; consumer < flashbook::orders::consumers; ++consumer)
    judge.equal(
        where + ": softmaxes of consumer " + std::to_string(consumer) + " while its O += P V runs",
        attention.overlapped(consumer), tiles - 1);
}

}  // namespace

int main() {
  book::KernelJudge judge;
  for (const int tiles : {1, 2, 4}) judge_tiles(judge, tiles);
  return judge.verdict();
}
