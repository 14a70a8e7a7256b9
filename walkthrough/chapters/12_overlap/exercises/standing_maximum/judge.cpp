#include <vector>

#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace {

using namespace flashbook;
using book::DeviceArray;

/// What the scores of a row are, by their number.
using Score = float (*)(int i, int n);

float ordinary(int i, int) {
  return static_cast<float>(i * 37 % 64) / 16 - 2;
}
float rising(int i, int n) {
  return 300.f * static_cast<float>(i) / static_cast<float>(n);
}
float huge_late(int i, int n) {
  return i == n - 3 ? 500 : ordinary(i, n);
}
float hidden_first(int i, int n) {
  return i < 40 && n > 64 ? -INFINITY : ordinary(i, n) - 200;
}

float value(int i) {
  return static_cast<float>(i * i % 11) - 3;
}

double exact(Score score, int n) {
  double m = -INFINITY, l = 0, o = 0;
  for (int i = 0; i < n; ++i) m = std::max<double>(m, score(i, n));
  for (int i = 0; i < n; ++i) {
    const double weight = std::exp(score(i, n) - m);
    l += weight;
    o += weight * value(i);
  }
  return o / l;
}

book::KernelRun run(Score score, int n, const simt::Options& options) {
  constexpr std::size_t rows = 2;
  const auto size = static_cast<std::size_t>(n);
  DeviceArray<float> x(rows * size, 0), v(rows * size, 0), y(rows, std::nanf(""));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = score(static_cast<int>(i % size), n);
    v[i] = value(static_cast<int>(i % size));
  }
  simt::Stream stream = {options, {}};
  emulated::launch({"average", {rows}, {32}}, &stream, emulated::average, x.constant(),
                   v.constant(), y.view(), n);
  const double expected = exact(score, n), tolerance = 1e-4 * std::max(1., std::abs(expected));
  const bool right = std::abs(y[0] - expected) <= tolerance && y[0] == y[1];
  return {std::move(stream.report), right};
}

void judge_rows(book::KernelJudge& judge, const char* what, Score score) {
  for (const int n : {32, 64, 320}) {
    const std::string where = std::string(what) + ", " + std::to_string(n) + " scores";
    judge.right_and_silent(where,
                           [&](const simt::Options& options) { return run(score, n, options); });
  }
}

void judge_shuffles(book::KernelJudge& judge, const char* what, Score score, int n,
                    std::uint64_t most) {
  const std::uint64_t shuffles = run(score, n, {}).report.total().shuffles / 2;
  judge.require(shuffles <= most, std::string(what) + " of " + std::to_string(n) +
                                      " scores takes " + std::to_string(shuffles) +
                                      " shuffles, and should no more than " + std::to_string(most));
}

}  // namespace

int main() {
  book::KernelJudge judge;
  judge_rows(judge, "ordinary rows", ordinary);
  judge_rows(judge, "rising rows", rising);
  judge_rows(judge, "one huge score late", huge_late);
  judge_rows(judge, "hidden scores first", hidden_first);
  for (const int n : {32, 320, 3200}) judge_shuffles(judge, "an ordinary row", ordinary, n, 16);
  judge_shuffles(judge, "a row that begins with a hidden tile", hidden_first, 320, 21);
  return judge.verdict();
}
