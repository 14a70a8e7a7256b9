#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/expectation.hpp"

/// How an output fares against what is expected of it.
namespace flashbook::conformance {

/// An element of an output, by its coordinates.
struct Element {
  std::array<Index, 4> at = {};
  double got = 0, expected = 0, tolerance = 0;
  bool of_empty_row = false;  ///< of O, LSE or dQ, and its query sees no key
};

/// How one output fared: the largest fraction of each gate that was used; above 1 fails.
struct Margins {
  double gate1 = 0;
  std::optional<double> gate2, gate3;  ///< absent where the gate does not apply
  double largest_error = 0;            ///< over the elements that should be finite
  Element worst;                       ///< of gate 1
  std::string gate3_direction;         ///< the one that used most of gate 3
  bool is_all_nan = false;             ///< no element that should be a number is one
  std::optional<double> factor;        ///< all elements are so many times what is expected

  double largest() const;  ///< of the gates that apply; NaN if one is
  bool pass() const;       ///< err <= limit in all, so NaN fails
};

/// `may_be_nan`: elements that NaN may have reached although no pair of theirs sees it; empty:
/// none.
Margins judge(const Expectation& expected, Output output, const std::array<Index, 4>& sizes,
              const std::vector<double>& got, const std::vector<char>& may_be_nan);

/// One sentence for each gate that an output fails.
std::vector<std::string> faults_of(Output output, const Margins& margins);

/// Which elements NaN may reach in an implementation that lets it spread within `tile`: those of
/// rows and keys that share a tile, counted from the member's start, with a pair that sees it.
PerOutput<std::vector<char>> nan_reach(const AttentionProblem& problem, const Inputs& inputs,
                                       const Cotangents& cotangents, const TileShape& tile);

}  // namespace flashbook::conformance
