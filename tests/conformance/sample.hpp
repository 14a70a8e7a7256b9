#pragma once

#include <set>
#include <tuple>

#include "tests/conformance/data.hpp"

/// Which rows and keys of a problem are judged that is too large to be judged as a whole.
namespace flashbook::conformance {

/// Rows or keys that are judged together: enough elements for gate 2.
inline constexpr Index sample_block = 16;

/// Some tokens of one head.
struct Piece {
  Index batch, head, first, count;

  auto key() const { return std::tuple(batch, head, first); }
  bool operator<(const Piece& other) const { return key() < other.key(); }
};

/// Eight blocks of [batch, heads, tokens], or all if there are no more: the first, the last, and
/// others drawn, each once.
std::set<Piece> sample(Index batch, Index heads, Index tokens, std::uint64_t seed,
                       std::uint64_t stream);

/// The member that holds rows of a piece: a batch entry, or of a packed problem, whose members
/// leave no slack, the one in which the piece begins.
Member member_of(const AttentionProblem& problem, const Piece& rows);

}  // namespace flashbook::conformance
