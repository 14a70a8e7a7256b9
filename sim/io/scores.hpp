#pragma once

#include <optional>

#include "sim/io/tensors.hpp"

namespace flashbook::io {

/// Where a tile of S lies.
struct ScoreTile {
  Member member;
  Index head;  ///< query head
  Range rows, keys;
};

/// The score rule: S = softcap(scale · Q Kᵀ) + bias − slope · |distance|, −∞ where hidden.
class ScoreRule {
 public:
  ScoreRule(const AttentionProblem& problem, const Tensors& tensors)
      : problem_(problem), hbm_(tensors) {}

  /// ALiBi's slope of a query head into a register; 0 without ALiBi.
  float load_slope(Sram& sram, const Member& member, Index head) const;
  /// Elements of the bias that one tile of S needs: an axis it is broadcast along counts once.
  Region bias_region(const ScoreTile& at) const;

  /// Q [B_r, d], K [B_c, d] → S [B_r, B_c]; also h = 1 − tanh², the soft-cap's slope, if H is
  /// given.
  void compute(Sram& sram, const ScoreTile& at, float slope, const Tile& Q, const Tile& K, Tile& S,
               Tile* H = nullptr) const;

 private:
  void soft_cap(Tile& S, Tile* H) const;
  void add_bias(Sram& sram, const ScoreTile& at, Tile& S) const;

  const AttentionProblem& problem_;
  const Tensors hbm_;
};

}  // namespace flashbook::io
