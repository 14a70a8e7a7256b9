#pragma once

#include <set>
#include <utility>

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// Sums over the visited tiles of one query head of one member, from the mask's geometry alone: how
/// often tiles of Q and of K, V are read, as in the IO analysis of FlashAttention (arXiv
/// 2205.14135, Theorem 2), where all T_r · T_c tiles are visited.
struct Visits {
  Index rows = 0;       ///< R = Σ B_r of the tile
  Index columns = 0;    ///< C = Σ B_c
  Index tiles = 0;      ///< V
  Index pairs = 0;      ///< Σ B_r · B_c
  Index rows_once = 0;  ///< rows of the row tiles that are visited at all: N, or fewer with a mask
  /// Each row tile's B_r with the largest B_c it visits (0: none), and each key tile's B_c with the
  /// largest B_r: what is resident together. A handful of shapes, however many tiles.
  std::set<std::pair<Index, Index>> row_tiles, key_tiles;
};

/// In a time that grows with the logarithm of the blocks, whatever N.
Visits visits_of(const AttentionProblem& problem, const Member& member, const Blocks& blocks);

/// Visible pairs of one query head of one member: the work no blocking can avoid. The sum of
/// an arithmetic series.
double visible_pairs(const AttentionProblem& problem, const Member& member);

}  // namespace flashbook::io
