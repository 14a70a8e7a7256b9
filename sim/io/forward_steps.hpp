#pragma once

#include "sim/io/online_softmax.hpp"
#include "sim/io/scores.hpp"

/// The steps that all blocked forward passes are made of. The passes differ in the order of the
/// tiles, and in what returns to HBM between two of them.
namespace flashbook::io {

/// The online softmax of a tile's rows.
struct RowState {
  Tile O;     ///< [B_r, d_v], not divided by ℓ
  Tile m, l;  ///< [B_r]

  /// O = diag(ℓ)⁻¹ O. A row that has seen no key has ℓ = 0 and O = 0.
  void divide_by_l(Sram& sram);
  /// m + ln ℓ, in m's place.
  Tile& lse_in_place(Sram& sram);
};

/// What a worker holds of one row tile while it takes in keys.
struct RowTile {
  QueryTile at;
  float slope;  ///< ALiBi's
  Tile Q;       ///< [B_r, d]
  RowState state;
};

/// One key tile and its values.
struct KeyValueTile {
  Range keys;  ///< of the member
  Tile K, V;   ///< [B_c, d], [B_c, d_v]
};

class ForwardSteps {
 public:
  ForwardSteps(const AttentionProblem& problem, const RunOptions& options, const Tensors& hbm)
      : problem_(problem), options_(options), hbm_(hbm), scores_(problem, hbm) {}

  /// Numbers [first, last) of the key tiles that a row tile visits: those with a visible pair.
  Range key_tiles_of(const QueryTile& tile) const {
    return io::key_tiles_of(problem_, tile, options_.blocks.columns);
  }
  /// And of the row tiles that visit a key tile.
  Range row_tiles_of(const Member& member, Range keys) const {
    return io::row_tiles_of(problem_, member, keys, options_.blocks.rows);
  }

  float load_slope(Sram& sram, const Member& member, Index head) const {
    return scores_.load_slope(sram, member, head);
  }
  /// State of a row of the head before its first key: what a sink makes of it.
  SoftmaxState load_first_state(Sram& sram, Index head) const;

  Tile load_queries(Sram& sram, const QueryTile& tile) const {
    return sram.load(hbm_.q, query_rows(tile.member, tile.head, tile.rows, problem_->d));
  }
  /// Key tile j, as one query head reads it.
  KeyValueTile load_keys(Sram& sram, const Member& member, Index head, Index j) const;

  /// O = 0;  m and ℓ of `first` in every row.
  RowState start(Sram& sram, Index rows, const SoftmaxState& first) const;

  /// S = scale · Q Kᵀ, capped, biased and masked;  m, ℓ take in S;  O = diag(α) O + P V.
  void take_in(Sram& sram, RowTile& row, KeyValueTile& keys) const;
  /// Likewise the key tiles [first, last) from HBM, one after the other.
  void take_in(Sram& sram, RowTile& row, Range key_tiles) const;

 private:
  void update(Sram& sram, Tile& S, const Tile& V, RowState& row) const;

  const AttentionProblem& problem_;
  const RunOptions& options_;
  const Tensors hbm_;
  const ScoreRule scores_;
};

}  // namespace flashbook::io
