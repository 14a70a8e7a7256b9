#include <iostream>

#include "walkthrough/implementations.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/step/step_run.hpp"
#include "walkthrough/tour/tour.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook::tour {
namespace {

using step::StepRun;

/// A tensor [1, N, 1, columns] of fp32.
Matrix<double> as_matrix(const Tensor& tensor, Index columns) {
  const float* values = static_cast<const float*>(tensor.data());
  const Index rows = static_cast<Index>(tensor.bytes.size() / sizeof(float)) / columns;
  return Eigen::Map<const Matrix<float>>(values, rows, columns).cast<double>();
}

Matrix<double> shown(const io::Step& step, const char* name) {
  return step.find(name)->cast<double>();
}

void introduce(const AttendTensors& in) {
  std::cout << side_by_side({{"Q", as_matrix(in.q, 2)},
                             {"K", as_matrix(in.k, 2)},
                             {"V", as_matrix(in.v, 2)}},
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

void show(const io::Step& step) {
  std::cout << "queries " << range_text(step.tile->rows) << ", keys " << range_text(step.tile->keys)
            << "\n"
            << side_by_side({{"S", shown(step, "S")},
                             {"m", shown(step, "m")},
                             {"α", shown(step, "α")},
                             {"P = e^(S−m)", shown(step, "P")},
                             {"ℓ", shown(step, "ℓ")},
                             {"O, not yet /ℓ", shown(step, "O")}})
            << "\n";
}

/// The correction at work on query 0, in the run's own numbers.
void explain_correction(const io::Step& before, const io::Step& after) {
  const double s = shown(before, "S")(0, 0), P = shown(before, "P")(0, 0);
  const double m_old = shown(before, "m")(0), m_new = shown(after, "m")(0);
  const double alpha = shown(after, "α")(0);
  std::cout << "Query 0: key 0 weighed e^(" << s << "−" << m_old << ") = " << fixed(P, 3)
            << ". Then key 2 raised the maximum to " << m_new
            << ", so\nall that was summed is multiplied by α = e^(" << m_old << "−" << m_new
            << ") = " << fixed(alpha, 4) << ": key 0 now weighs\n"
            << fixed(P * alpha, 4) << " = e^(" << s << "−" << m_new
            << "), as if the maximum had been known from the start.\n\n";
}

/// Every visited tile; what the steps without one show, O and LSE of a row tile, is returned.
std::vector<NamedMatrix> show_steps(const StepRun& run) {
  Matrix<double> O(4, 2), lse(4, 1);
  Index rows = 0;
  for (Index at = 0; at < run.size(); ++at) {
    if (run[at].tile) {
      show(run[at]);
      if (at == 1) explain_correction(run[0], run[1]);
      continue;
    }
    O.middleRows(rows, 2) = shown(run[at], "O");
    lse.middleRows(rows, 2) = shown(run[at], "LSE");
    rows += 2;
  }
  return {{"O = O/ℓ", O}, {"LSE = m + ln ℓ", lse}};
}

void show_traffic(const io::Report& flash, const AttentionProblem& problem) {
  const io::Report standard = run_on_random(io::find_algorithm("standard_forward"), problem);
  std::cout << "\nMoved: " << flash.matrix_reads() << " elements read, " << flash.matrix_writes()
            << " written, and " << flash.vector_writes() << " of LSE. Standard attention, which\n"
            << "stores S and P and reads them back: " << standard.matrix_reads() << " read, "
            << standard.matrix_writes() << " written.\n";
}

}  // namespace

void step_example() {
  print_heading("1. Attention on 4 tokens, stepped in tiles of 2 × 2");
  const StepRun run = step::run_steps(io::find_algorithm("fa2_forward"),
                                      step::worked_example(DType::fp32, false), {{2, 2}});
  const AttendTensors& in = run.subject.tensors;
  introduce(in);
  std::vector<NamedMatrix> results = show_steps(run);

  Tensor exact = make_tensor(in.q.shape, sizeof(float)), lse = make_tensor({4}, sizeof(float));
  find_implementation("oracle")->forward(in.problem, in.inputs(), {exact.data(), lse.data()});
  results.push_back({"O in double precision", as_matrix(exact, 2)});
  std::cout << side_by_side(results);
  show_traffic(run.report, in.problem);
  std::cout << "Largest difference to double precision: "
            << (results.front().values - results.back().values).cwiseAbs().maxCoeff() << ".\n";
}

}  // namespace flashbook::tour
