#include <algorithm>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/judge.hpp"

namespace flashbook::conformance {
namespace {

using Mask = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Flags = Eigen::Array<bool, Eigen::Dynamic, 1>;

/// Rows of M with an element that is not finite.
Flags rows_with_nan(const Matrix<double>& M) {
  Flags found(M.rows());
  for (Index i = 0; i < M.rows(); ++i) found(i) = !M.row(i).allFinite();
  return found;
}

/// The tiles that hold a pair of `source`, whole.
Mask whole_tiles(const Mask& source, const TileShape& tile) {
  Mask spread = Mask::Constant(source.rows(), source.cols(), false);
  for (Index i = 0; i < source.rows(); i += tile.rows)
    for (Index j = 0; j < source.cols(); j += tile.columns) {
      const Index rows = std::min(tile.rows, source.rows() - i);
      const Index columns = std::min(tile.columns, source.cols() - j);
      if (source.block(i, j, rows, columns).any()) spread.block(i, j, rows, columns) = true;
    }
  return spread;
}

Flags any_row(const Mask& M) {
  return M.cols() > 0 ? Flags(M.rowwise().any()) : Flags::Constant(M.rows(), false);
}
Flags any_column(const Mask& M) {
  return M.rows() > 0 ? Flags(M.colwise().any().transpose()) : Flags::Constant(M.cols(), false);
}

Matrix<double> as_numbers(const Flags& flags, Index columns) {
  return flags.cast<double>().matrix().replicate(1, columns);
}

/// 1 where NaN may reach the outputs of one head.
HeadContribution reach_of_head(const AttentionProblem& problem, const Inputs& inputs,
                               const Cotangents& cotangents, const Member& m, Index query_head,
                               const TileShape& tile) {
  const auto head = load_head<double>(problem, inputs, m, query_head);
  const auto given = load_cotangents<double>(problem, cotangents, m, query_head);
  Mask visible(m.n_q, m.n_k);
  for (Index i = 0; i < m.n_q; ++i)
    for (Index j = 0; j < m.n_k; ++j) visible(i, j) = problem.visible(m, i, j);

  // Forward: a tile multiplies the 0 of a hidden pair by V.
  const Flags in_V = rows_with_nan(head.V), in_keys = rows_with_nan(head.K) || in_V;
  const Mask sees_V = visible && in_V.transpose().replicate(m.n_q, 1);
  const Flags rows_of_O = any_row(whole_tiles(sees_V, tile));

  // Backward: by Q, K, V or dO; and a row whose O holds NaN has a Δ of NaN.
  Flags in_row =
      rows_of_O || rows_with_nan(head.Q) || rows_with_nan(given.dO) || rows_with_nan(given.dlse);
  if (head.bias.size() > 0) in_row = in_row || any_row(visible && head.bias.array().isNaN());
  in_row = in_row || any_row(visible && in_keys.transpose().replicate(m.n_q, 1));
  const Mask sees =
      visible && (in_row.replicate(1, m.n_k) || in_keys.transpose().replicate(m.n_q, 1));
  const Mask spread = whole_tiles(sees, tile);

  // A row whose scores are all −∞ is 0, whatever its tile holds.
  const Flags holds_something = any_row(forward<double>(head).S.array() != minus_infinity<double>);
  HeadContribution part;
  part.O = as_numbers(rows_of_O && holds_something, problem->d_v);
  part.dQ = as_numbers(any_row(spread) && holds_something, problem->d);
  part.dK = as_numbers(any_column(spread), problem->d);
  part.dV = as_numbers(any_column(spread), problem->d_v);
  part.dS = sees.cast<double>().matrix();
  part.dsink = any_row(sees).any() ? 1 : 0;
  return part;
}

}  // namespace

PerOutput<std::vector<char>> nan_reach(const AttentionProblem& problem, const Inputs& inputs,
                                       const Cotangents& cotangents, const TileShape& tile) {
  Numbers reach = zeros(problem);
  for (Index b = 0; b < problem->members; ++b)
    for (Index head = 0; head < problem->heads_q; ++head) {
      const Member m = problem.member(b);
      add_head(reach, problem, m, head, reach_of_head(problem, inputs, cotangents, m, head, tile));
    }
  PerOutput<std::vector<char>> may_be_nan;
  for (Output output : all_outputs)
    for (double count : reach[output]) may_be_nan[output].push_back(count > 0 ? 1 : 0);
  return may_be_nan;
}

}  // namespace flashbook::conformance
