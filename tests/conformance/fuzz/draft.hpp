#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tests/conformance/fuzz/draws.hpp"
#include "tests/conformance/problem_spec.hpp"

/// Problems as choices that do not depend on each other: a size can be changed, and strides,
/// offsets and the bias's shape follow. Random problems are drawn as drafts, and shrunk as drafts.
namespace flashbook::conformance {

/// How a tensor [B, N, H, d] lies in memory.
enum class Placement {
  bnhd,
  bhnd,
  padded,         ///< gaps after every head, token and batch entry
  backwards,      ///< the tokens in reverse
  odd_unit_axes,  ///< bnhd, the strides of axes of size 1 meaningless numbers
  // Inputs only, for elements share an address:
  one_head,   ///< stride 0 along the heads
  one_token,  ///< stride 0 along the tokens
};

/// How a bias lies in memory: row-major; key-major; with gaps; one matrix for all entries and
/// heads.
enum class BiasPlacement { row_major, key_major, padded, one_matrix };

/// Queries and keys of one sequence.
struct Lengths {
  Index n_q, n_k;
  bool operator==(const Lengths&) const = default;
};

/// The strided tensors of a problem, outputs last.
enum class Strided { Q, K, V, dO, O, dQ, dK, dV };
inline constexpr std::size_t strided_count = 8;

struct Draft {
  DType dtype = DType::fp32;
  Index batch = 1;
  Index heads_kv = 1, group = 1;  ///< H_kv, H_q / H_kv
  Index d = 1, d_v = 1;
  Lengths tokens = {1, 1};                      ///< of a dense problem; the slack of a packed one
  std::optional<std::vector<Lengths>> members;  ///< of a packed problem
  Alignment alignment = Alignment::bottom_right;
  bool causal = false;
  Index window_left = unbounded, window_right = unbounded;
  std::optional<double> scale;  ///< else 1/√d
  double softcap = 0;           ///< 0: none
  /// Axes of a bias [B, H_q, N_q, N_k] that are not broadcast; absent: no bias.
  std::optional<std::array<bool, 4>> bias;
  BiasPlacement bias_placement = BiasPlacement::row_major;
  std::int32_t alibi = FLASHBOOK_NO_ALIBI;
  bool sinks = false, dlse = false;
  std::array<Placement, strided_count> placements = {};
  Recipe recipe;

  bool operator==(const Draft&) const = default;
};

/// The problem that a draft describes. parse_problem(format_problem(…)) gives it again.
ProblemSpec spec_of(const Draft& draft);

/// Where small sizes end: the largest number of tokens, members, and channels.
struct SizeLimits {
  Index tokens = 9, members = 4, channels = 9;
};

/// A problem of the whole contract: any dtype, mask, option, layout and recipe, packed or not,
/// degenerate sizes included.
Draft random_draft(Draws& draws, const SizeLimits& limits);

}  // namespace flashbook::conformance
