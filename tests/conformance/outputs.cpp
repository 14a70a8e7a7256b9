#include "tests/conformance/outputs.hpp"

#include <numeric>

namespace flashbook::conformance {
namespace {

/// Rows of one head in a contiguous [B, tokens, heads, channels] tensor.
void add_rows(std::vector<double>& tensor, const std::array<Index, 4>& sizes, Index batch,
              Index first, Index head, const Matrix<double>& rows) {
  for (Index i = 0; i < rows.rows(); ++i) {
    const Index start = ((batch * sizes[1] + first + i) * sizes[2] + head) * sizes[3];
    for (Index c = 0; c < rows.cols(); ++c)
      tensor[static_cast<std::size_t>(start + c)] += rows(i, c);
  }
}

}  // namespace

std::string_view name(Output output) {
  constexpr std::string_view names[] = {"O", "LSE", "dQ", "dK", "dV", "dBias", "dSinks"};
  return names[static_cast<std::size_t>(output)];
}

std::array<Index, 4> shape(const AttentionProblem& problem, Output output) {
  const flashbook_problem& p = problem.fields();
  switch (output) {
    case Output::O:
      return {p.batch, p.n_q, p.heads_q, p.d_v};
    case Output::LSE:
      return {1, p.batch, p.heads_q, p.n_q};
    case Output::dQ:
      return {p.batch, p.n_q, p.heads_q, p.d};
    case Output::dK:
      return {p.batch, p.n_k, p.heads_kv, p.d};
    case Output::dV:
      return {p.batch, p.n_k, p.heads_kv, p.d_v};
    case Output::dBias:
      return p.has_bias ? std::to_array(p.bias_shape) : std::array<Index, 4>{};
    case Output::dSinks:
      break;
  }
  return p.has_sinks ? std::array<Index, 4>{1, 1, 1, p.heads_q} : std::array<Index, 4>{};
}

Numbers zeros(const AttentionProblem& problem) {
  Numbers numbers;
  for (Output output : all_outputs) {
    const auto sizes = shape(problem, output);
    const Index size = std::accumulate(sizes.begin(), sizes.end(), Index{1}, std::multiplies<>());
    numbers[output].assign(static_cast<std::size_t>(size), 0.0);
  }
  return numbers;
}

void add_head(Numbers& sum, const AttentionProblem& problem, const Member& m, Index query_head,
              const HeadContribution& part) {
  const flashbook_problem& p = problem.fields();
  const Index kv_head = problem.kv_head(query_head);
  const auto add = [&](Output output, Index first, Index head, const Matrix<double>& rows) {
    add_rows(sum[output], shape(problem, output), m.batch, first, head, rows);
  };
  add(Output::O, m.first_q, query_head, part.O);
  add(Output::dQ, m.first_q, query_head, part.dQ);
  if (!sum[Output::dK].empty()) add(Output::dK, m.first_k, kv_head, part.dK);
  if (!sum[Output::dV].empty()) add(Output::dV, m.first_k, kv_head, part.dV);
  double* lse = sum[Output::LSE].data() + (m.batch * p.heads_q + query_head) * p.n_q + m.first_q;
  for (Index i = 0; i < part.lse.size(); ++i) lse[i] += part.lse(i);
  if (p.has_sinks) sum[Output::dSinks][static_cast<std::size_t>(query_head)] += part.dsink;
  if (!p.has_bias) return;
  const BiasView<double> dbias = gradient_view(sum[Output::dBias].data(), p);
  for (Index i = 0; i < part.dS.rows(); ++i)
    for (Index j = 0; j < part.dS.cols(); ++j)
      dbias(m.batch, query_head, m.first_q + i, m.first_k + j) += part.dS(i, j);
}

}  // namespace flashbook::conformance
