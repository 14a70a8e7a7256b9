#pragma once

#include <functional>
#include <optional>

#include "sim/io/algorithms.hpp"
#include "sim/io/bounds.hpp"

/// Algorithms against each other, each with the blocks that suit it best: exact counts of one dense
/// head, N_q = N_k = N, d = d_v. In fp32, unless said otherwise: every tile then has elements of
/// one size, as in the papers' analyses, and M elements of SRAM are 4M bytes.
namespace flashbook::io {

struct Tiling {
  Blocks blocks;
  Index elements;  ///< read and written a head, vectors included
};

/// The tiling that fits M elements and moves the fewest bytes; none if no tile fits. In 16 bits the
/// SRAM is 2M bytes, of which S and what is accumulated take 4 an element.
std::optional<Tiling> best_tiling(const Algorithm& algorithm, Index n, Index d, Index m,
                                  DType dtype = DType::fp32);

/// Elements read and written a head with these blocks, vectors included.
Index elements_moved(const Algorithm& algorithm, Index n, Index d, const Blocks& blocks);

/// Elements of matrices that an algorithm reads and writes with these blocks, vectors left out.
Index matrix_elements(const Algorithm& algorithm, Index n, Index d, const Blocks& blocks);

/// Where a statement about a whole number begins to hold. Counts are staircases: it may hold, fail
/// and hold again between the two.
struct Turn {
  Index first;   ///< it holds here, and not before
  Index always;  ///< and from here on
};

/// Looks from `least` to `most`, at whole numbers at most 1/256 apart, and then between the two
/// where the answer changes. None if it holds from the start, or does not hold at the end.
std::optional<Turn> turn_of(Index least, Index most, const std::function<bool(Index)>& holds);

/// Elements moved by square tiling, as in bounds.hpp.
using SquareTiling = double (*)(const Shape&);

/// The M from which an algorithm's best tiling moves fewer elements than square tiling: Saha and Ye
/// (arXiv 2402.07443), Theorem 3.1, has the orders of the two cross at M = d².
std::optional<Turn> crosses_square_tiling(const Algorithm& algorithm, Index n, Index d,
                                          SquareTiling square_tiling);

/// Whether an algorithm moves fewer elements of matrices than standard_forward with this B_c (FA1,
/// whose queries stream past the keys) or B_r (FA2, whose keys stream); the other block is 1.
bool moves_less_than_standard(const Algorithm& algorithm, Index n, Index d, Index block);

/// The block from which on it does, up to 4d. For large N that is B_c > 3d/4 and B_r > d/2; where
/// 3d/4 or d/2 is whole, the terms in Nd decide in the block's favour.
std::optional<Turn> beats_standard(const Algorithm& algorithm, Index n, Index d);

}  // namespace flashbook::io
