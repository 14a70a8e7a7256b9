#include <vector>

#include "answer.hpp"
#include "sim/io/algorithms.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using namespace flashbook;

io::Report run(const char* algorithm, long N, long d, long B_r, long B_c) {
  const AttentionProblem problem(dense_problem(1, 1, 1, N, N, d, d));
  const std::vector<float> input(static_cast<std::size_t>(N * d), 1.f);
  std::vector<float> o(input.size()), lse(static_cast<std::size_t>(N));
  io::RunOptions options;
  options.blocks = {B_r, B_c};
  const Inputs inputs = {input.data(), input.data(), input.data(), nullptr, nullptr, nullptr};
  return io::run(io::find_algorithm(algorithm), problem, {inputs, {o.data(), lse.data()}, {}, {}},
                 options);
}

void compare(book::Judge& judge, const char* algorithm, Traffic (*answer)(long, long, long, long),
             long N, long d, long B_r, long B_c) {
  std::ostringstream at;
  at << algorithm << ", N = " << N << ", d = " << d << ", " << B_r << " × " << B_c << ": ";
  const io::Report counted = run(algorithm, N, d, B_r, B_c);
  const Traffic got = answer(N, d, B_r, B_c);
  judge.equal(at.str() + "read", got.reads, counted.matrix_reads());
  judge.equal(at.str() + "written", got.writes, counted.matrix_writes());
}

}  // namespace

int main() {
  book::Judge judge;
  const long shapes[][4] = {{16, 4, 16, 16}, {16, 4, 4, 8},   {128, 16, 32, 8}, {10, 2, 3, 4},
                            {97, 8, 16, 64}, {100, 32, 7, 1}, {1, 8, 1, 1}};
  for (const auto& [N, d, B_r, B_c] : shapes) {
    compare(judge, "fa1_forward", fa1, N, d, B_r, B_c);
    compare(judge, "fa2_forward", fa2, N, d, B_r, B_c);
  }
  return judge.verdict();
}
