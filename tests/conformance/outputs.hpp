#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cpu_reference/tensor_view.hpp"

/// The outputs attention has, and a number for every element of each.
namespace flashbook::conformance {

enum class Output { O, LSE, dQ, dK, dV, dBias, dSinks };
inline constexpr std::array all_outputs = {Output::O,  Output::LSE,   Output::dQ,    Output::dK,
                                           Output::dV, Output::dBias, Output::dSinks};
std::string_view name(Output output);
inline bool is_gradient(Output output) {
  return output > Output::LSE;
}

/// One T for each output.
template <class T>
struct PerOutput {
  std::array<T, all_outputs.size()> each;

  T& operator[](Output output) { return each[static_cast<std::size_t>(output)]; }
  const T& operator[](Output output) const { return each[static_cast<std::size_t>(output)]; }
};

/// Logical sizes: O [B, N_q, H_q, d_v], LSE [1, B, H_q, N_q], dQ [B, N_q, H_q, d], dK, dV [B, N_k,
/// H_kv, ·], dBias in the bias's shape, dSinks [1, 1, 1, H_q]; all 0 for a tensor there is not.
std::array<Index, 4> shape(const AttentionProblem& problem, Output output);

/// What one query head of one member adds to the outputs; matrices left empty add nothing.
struct HeadContribution {
  Matrix<double> O;           ///< [N_q, d_v]
  Vector<double> lse;         ///< [N_q]
  Matrix<double> dQ, dK, dV;  ///< as Q, K, V
  Matrix<double> dS;          ///< [N_q, N_k], summed into dBias
  double dsink = 0;
};

/// Numbers in double, one an element of each output, in logical order (last axis fastest): exact
/// values, tolerances, variances or errors.
using Numbers = PerOutput<std::vector<double>>;

/// All zero.
Numbers zeros(const AttentionProblem& problem);
/// Adds a head's part: dK and dV to its kv head, dS to the bias elements it was broadcast from. dK
/// or dV that `sum` has no element of is left out.
void add_head(Numbers& sum, const AttentionProblem& problem, const Member& member, Index query_head,
              const HeadContribution& part);

}  // namespace flashbook::conformance
