#pragma once

#include "sim/io/tensors.hpp"

namespace flashbook::io {

/// dQ in algorithms whose outer loop runs over the keys: a row tile is visited once for every key
/// tile it sees, and its Σ_j dX_ij K_j waits in HBM between visits. The sum is fp32, in a
/// workspace; the last visit scales it, rounds it once and writes it to dQ. Rows that no visit
/// reaches get their zeros from `clear`.
class PartialDq {
 public:
  PartialDq(const AttentionProblem& problem, const Blocks& blocks, Tensor dq, Tensor workspace)
      : problem_(problem), blocks_(blocks), dq_(dq), workspace_(workspace) {}

  /// Key tiles that a row tile sees, by index.
  Range visits(const QueryTile& tile) const;
  bool is_first(const QueryTile& tile, Range keys) const;

  /// Writes zeros where the first visit reads, and to dQ where there is none.
  void clear(Sram& sram, const QueryTile& tile) const;
  /// The sum so far: [B_r, d].
  Tile load(Sram& sram, const QueryTile& tile) const;
  /// A sum of nothing yet.
  Tile zeros(Sram& sram, const QueryTile& tile) const;
  /// After the visit of these keys: to the workspace or, after the last, to dQ.
  void store(Sram& sram, Tile& sum, const QueryTile& tile, Range keys) const;

 private:
  Region region(const QueryTile& tile) const {
    return query_rows(tile.member, tile.head, tile.rows, problem_->d);
  }

  const AttentionProblem& problem_;
  const Blocks blocks_;
  const Tensor dq_, workspace_;
};

}  // namespace flashbook::io
