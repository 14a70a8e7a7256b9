#include <sstream>
#include <vector>

#include "answer.hpp"
#include "sim/io/algorithms.hpp"
#include "walkthrough/chapters/judge.hpp"

using namespace flashbook;

namespace {

io::Report executed(std::int64_t n_q, std::int64_t n_k, std::int64_t d, std::int64_t d_v,
                    bool causal) {
  flashbook_problem p = dense_problem(1, 1, 1, n_q, n_k, d, d_v);
  p.causal = causal;
  const std::vector<float> Q(n_q * d), K(n_k * d), V(n_k * d_v);
  std::vector<float> O(n_q * d_v), lse(n_q);
  return io::run(
      io::find_algorithm("standard_forward"), AttentionProblem(p),
      {{Q.data(), K.data(), V.data(), nullptr, nullptr, nullptr}, {O.data(), lse.data()}, {}, {}});
}

}  // namespace

int main() {
  book::Judge judge;
  for (const std::int64_t n_q : {1, 64, 100})
    for (const std::int64_t n_k : {64, 37})
      for (const std::int64_t d_v : {16, 24})
        for (const bool causal : {false, true}) {
          const std::int64_t d = 16;
          const io::Report counted = executed(n_q, n_k, d, d_v, causal);
          const Traffic yours = standard_traffic(n_q, n_k, d, d_v, causal);
          std::ostringstream shape;
          shape << " (n_q = " << n_q << ", n_k = " << n_k << ", d = " << d << ", d_v = " << d_v
                << (causal ? ", causal)" : ")");
          judge.equal("read" + shape.str(), yours.read, counted.matrix_reads());
          judge.equal("written" + shape.str(), yours.written, counted.matrix_writes());
        }
  return judge.verdict();
}
