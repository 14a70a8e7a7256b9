#include <exception>
#include <random>
#include <vector>

#include "answer.hpp"
#include "sim/io/algorithms.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using namespace flashbook;

/// Q, K, V [N, d] of one head, and what must come out.
struct Head {
  Head(Index N, Index d) : Q(N, d), K(N, d), V(N, d), O(N, d), lse(N) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (Matrix<float>* X : {&Q, &K, &V})
      for (Index i = 0; i < X->size(); ++i) X->data()[i] = normal(random);
  }

  /// FA2 as it is in sim/io, with scale 1: fills O, and tells what it moved.
  io::Report run_fa2(io::Blocks blocks) {
    flashbook_problem fields = dense_problem(1, 1, 1, Q.rows(), Q.rows(), Q.cols(), Q.cols());
    fields.scale = 1;
    io::RunOptions options;
    options.blocks = blocks;
    const Inputs inputs = {Q.data(), K.data(), V.data(), nullptr, nullptr, nullptr};
    return io::run(io::find_algorithm("fa2_forward"), AttentionProblem(fields),
                   {inputs, {O.data(), lse.data()}, {}, {}}, options);
  }

  Matrix<float> Q, K, V, O;
  Vector<float> lse;
};

io::Layout layout(const Matrix<float>& X) {
  return {io::Kind::matrix, DType::fp32, {1, 1, X.rows(), X.cols()}, {0, 0, X.cols(), 1}};
}

struct Outcome {
  Matrix<float> O;
  io::Counts counts[6];  ///< of Q, K, V, O, m, l
};

Outcome run_answer(const Head& head, io::Blocks blocks, Index sram_bytes) {
  const Index N = head.Q.rows(), d = head.Q.cols();
  Outcome outcome = {Matrix<float>::Constant(N, d, NAN), {}};
  io::Hbm hbm;
  const auto vector = [&](const char* name) {
    return hbm.add_workspace(name, io::Kind::vector, DType::fp32, {1, 1, N, 1});
  };
  const io::Tensor Q = hbm.add_input("Q", layout(head.Q), head.Q.data());
  const io::Tensor K = hbm.add_input("K", layout(head.K), head.K.data());
  const io::Tensor V = hbm.add_input("V", layout(head.V), head.V.data());
  const io::Tensor O = hbm.add_output("O", layout(outcome.O), outcome.O.data());
  const io::Tensor m = vector("m"), l = vector("l");
  io::Sram sram(hbm, sram_bytes);
  forward(sram, {N, d, blocks.rows, blocks.columns, Q, K, V, O, m, l});
  std::copy_n(sram.tally().tensors.begin(), 6, outcome.counts);
  return outcome;
}

void compare(book::Judge& judge, Index N, Index d, io::Blocks blocks) {
  std::ostringstream at;
  at << "N = " << N << ", d = " << d << ", " << blocks.rows << " × " << blocks.columns;
  Head head(N, d);
  const io::Report fa2 = head.run_fa2(blocks);
  try {
    const Outcome outcome = run_answer(head, blocks, fa2.peak_sram_bytes);
    const double error = (outcome.O - head.O).cwiseAbs().maxCoeff();
    std::ostringstream wrong;
    wrong << at.str() << ": O differs by " << error;
    judge.require(error <= 1e-5, wrong.str());
    const char* names[] = {"Q", "K", "V", "O", "m", "l"};
    for (int t = 0; t < 6; ++t) {
      io::Counts expected;
      for (const io::TensorTraffic& tensor : fa2.tensors)
        if (tensor.name == names[t]) expected = tensor.counts;
      const std::string of = std::string(" of ") + names[t];
      judge.equal(at.str() + ": what is read" + of, outcome.counts[t].reads, expected.reads);
      judge.equal(at.str() + ": what is written" + of, outcome.counts[t].writes, expected.writes);
    }
  } catch (const std::exception& refusal) {  // no room, or a tile of another size than its region
    const std::string reason = refusal.what();
    judge.require(false, at.str() + ": " + reason.substr(0, reason.find(": pass smaller")));
  }
}

}  // namespace

int main() {
  book::Judge judge;
  compare(judge, 64, 8, {16, 16});
  compare(judge, 100, 16, {32, 7});
  compare(judge, 33, 4, {8, 32});
  return judge.verdict();
}
