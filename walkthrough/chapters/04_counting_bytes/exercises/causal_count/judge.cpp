#include "walkthrough/chapters/judge.hpp"
#include "answer.hpp"
#include "sim/io/algorithms.hpp"

using namespace flashbook;

namespace {

/// Rows of K that the simulated memory counted.
Index counted(Index N, Index B_r, Index B_c) {
  constexpr Index d = 2;
  flashbook_problem fields = dense_problem(1, 1, 1, N, N, d, d);
  fields.causal = 1;
  const AttentionProblem problem(fields);
  const std::vector<float> zeros(static_cast<std::size_t>(N * d));
  std::vector<float> o(zeros), lse(static_cast<std::size_t>(N));
  io::RunTensors tensors = {};
  tensors.inputs = {zeros.data(), zeros.data(), zeros.data(), nullptr, nullptr, nullptr};
  tensors.outputs = {o.data(), lse.data()};
  io::RunOptions options;
  options.blocks = {B_r, B_c};
  const io::Report report = io::run(io::find_algorithm("fa2_forward"), problem, tensors, options);
  for (const io::TensorTraffic& tensor : report.tensors)
    if (tensor.name == "K") return tensor.counts.reads / d;
  return 0;
}

}  // namespace

int main() {
  book::Judge judge;
  constexpr Index shapes[][3] = {{64, 16, 16}, {64, 16, 32}, {64, 32, 16}, {10, 3, 4},
                                 {100, 7, 9},  {97, 32, 16}, {5, 8, 8},    {300, 1, 64}};
  for (const auto& [N, B_r, B_c] : shapes) {
    const Index got = rows_of_k(N, B_r, B_c), expected = counted(N, B_r, B_c);
    std::ostringstream text;
    text << "N = " << N << ", " << B_r << " × " << B_c << ": the run loads " << expected
         << " rows of K, you say " << got;
    if (got == N * ((N + B_r - 1) / B_r)) text << " (no mask)";
    judge.require(got == expected, text.str());
  }
  return judge.verdict();
}
