#include <iostream>

#include "sim/io/algorithms.hpp"
#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/tour/tour.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook::tour {
namespace {

/// Four tokens of d = 2. Query 0 scores the keys 3, 5, 10 and 2: the maximum grows on the way.
struct Example {
  std::vector<float> Q = {1, 0, 0, 1, 1, -1, -1, 2}, K = {3, 1, 5, 0, 10, 2, 2, 1};
  std::vector<float> V = {1, 0, 0, 1, 2, 2, -1, 3};
  std::vector<float> O = std::vector<float>(8), lse = std::vector<float>(4);

  static AttentionProblem problem() {
    flashbook_problem p = dense_problem(1, 1, 1, 4, 4, 2, 2);
    p.scale = 1;
    return AttentionProblem(p);
  }
  Inputs inputs() const { return {Q.data(), K.data(), V.data(), nullptr, nullptr, nullptr}; }
  Outputs outputs() { return {O.data(), lse.data()}; }
};

Matrix<double> as_matrix(const std::vector<float>& values, Index columns) {
  const Index rows = static_cast<Index>(values.size()) / columns;
  return Eigen::Map<const Matrix<float>>(values.data(), rows, columns).cast<double>();
}

void introduce(const Example& example) {
  std::cout << side_by_side({{"Q", as_matrix(example.Q, 2)},
                             {"K", as_matrix(example.K, 2)},
                             {"V", as_matrix(example.V, 2)}},
                            0)
            << R"(
Attention gives each query a weighted mean of the values V. The scores are
S = QKᵀ (unscaled here), and a row's weights are its softmax. Flash attention
sees a row of S one tile at a time, and keeps for each query:

  m   the largest score so far
  P   the tile's weights e^(S−m), not yet divided by their sum
  ℓ   the sum of all weights so far
  O   the weighted sum of the rows of V so far; divided by ℓ at the very end
  α   e^(m_old−m): when m rises, ℓ and O so far are multiplied by it
      (0 in a first tile: there is nothing yet to correct)

Only Q, K, V, O and LSE = m + ln ℓ (kept for the backward pass) touch the slow
memory; S, P, m, ℓ and α never leave the fast one.

)";
}

std::string range_text(const io::Range& range) {
  return std::to_string(range.first) + "–" + std::to_string(range.last - 1);
}

void show(const io::TileStep& step) {
  std::cout << "queries " << range_text(step.rows) << ", keys " << range_text(step.keys) << "\n"
            << side_by_side({{"S", step.S.cast<double>()},
                             {"m", step.m.cast<double>()},
                             {"α", step.alpha.cast<double>()},
                             {"P = e^(S−m)", step.P.cast<double>()},
                             {"ℓ", step.l.cast<double>()},
                             {"O, not yet /ℓ", step.O.cast<double>()}})
            << "\n";
}

/// The correction at work on query 0, in the run's own numbers.
void explain_correction(const io::TileStep& before, const io::TileStep& after) {
  const float s = before.S(0, 0), m_old = before.m(0), m_new = after.m(0);
  std::cout << "Query 0: key 0 weighed e^(" << s << "−" << m_old
            << ") = " << fixed(before.P(0, 0), 3) << ". Then key 2 raised the maximum to " << m_new
            << ", so\nall that was summed is multiplied by α = e^(" << m_old << "−" << m_new
            << ") = " << fixed(after.alpha(0), 4) << ": key 0 now weighs\n"
            << fixed(before.P(0, 0) * after.alpha(0), 4) << " = e^(" << s << "−" << m_new
            << "), as if the maximum had been known from the start.\n\n";
}

io::Report run_stepped(Example& example) {
  std::vector<io::TileStep> steps;
  io::RunOptions options;
  options.blocks = {2, 2};
  options.observer = [&](const io::TileStep& step) {
    show(step);
    steps.push_back(step);
    if (steps.size() == 2) explain_correction(steps[0], steps[1]);
  };
  return io::run(io::find_algorithm("fa2_forward"), Example::problem(),
                 {example.inputs(), example.outputs(), {}, {}}, options);
}

void show_traffic(const io::Report& flash) {
  const io::Report standard =
      run_on_random(io::find_algorithm("standard_forward"), Example::problem());
  std::cout << "\nMoved: " << flash.matrix_reads() << " elements read, " << flash.matrix_writes()
            << " written, and " << flash.vector_writes() << " of LSE. Standard attention, which\n"
            << "stores S and P and reads them back: " << standard.matrix_reads() << " read, "
            << standard.matrix_writes() << " written.\n";
}

}  // namespace

void step_example() {
  print_heading("1. Attention on 4 tokens, stepped in tiles of 2 × 2");
  Example example, exact;
  introduce(example);
  const io::Report report = run_stepped(example);
  find_implementation("oracle")->forward(Example::problem(), exact.inputs(), exact.outputs());
  const Matrix<double> O = as_matrix(example.O, 2), O_exact = as_matrix(exact.O, 2);
  std::cout << side_by_side({{"O = O/ℓ", O},
                             {"LSE = m + ln ℓ", as_matrix(example.lse, 1)},
                             {"O in double precision", O_exact}});
  show_traffic(report);
  std::cout << "Largest difference to double precision: " << (O - O_exact).cwiseAbs().maxCoeff()
            << ".\n";
}

}  // namespace flashbook::tour
