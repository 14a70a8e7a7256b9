#include "cuda/rules/visible.cuh"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/rules/launcher.cuh"

// The ranges of the kernels against the oracle's mask, pair by pair: they share no code. Both are
// asked about all N_q, N_k <= 12, both alignments, causal or not, and windows with either side from
// -3 to 13 or unbounded.

namespace flashbook {
namespace {

using emulated::Range;
using emulated::TileClass;
using emulated::Visible;

constexpr int most = 12;

/// One mask, as the oracle says it is.
struct Mask {
  int n_q, n_k;
  bool sees[most][most];
  std::string text;
};

/// Begin and end of what `holds` of 0 ... n - 1; {0, 0} if nothing.
template <class Holds>
Range range_of(int n, Holds&& holds) {
  Range range = {0, 0};
  for (int i = 0; i < n; ++i)
    if (holds(i)) range = {range.is_empty() ? i : range.begin, i + 1};
  return range;
}

bool same(Range a, Range b) {
  return (a.is_empty() && b.is_empty()) || (a.begin == b.begin && a.end == b.end);
}

bool ranges_agree(const Visible& visible, const Mask& mask) {
  bool agree = true;
  for (int i = 0; i < mask.n_q; ++i)
    agree &= same(visible.keys_of(i), range_of(mask.n_k, [&](int j) { return mask.sees[i][j]; }));
  for (int j = 0; j < mask.n_k; ++j)
    agree &= same(visible.rows_of(j), range_of(mask.n_q, [&](int i) { return mask.sees[i][j]; }));
  return agree;
}

/// How many pairs of a tile are visible, and whether all of its keys and rows that exist.
TileClass class_of(const Mask& mask, Range rows, Range keys) {
  bool some = false, all = keys.end <= mask.n_k;
  for (int i = rows.begin; i < rows.end && i < mask.n_q; ++i)
    for (int j = keys.begin; j < keys.end && j < mask.n_k; ++j)
      (mask.sees[i][j] ? some : all) = mask.sees[i][j];
  return !some ? TileClass::skip : all ? TileClass::full : TileClass::partial;
}

bool some_row_sees(const Mask& mask, Range rows, int j) {
  for (int i = rows.begin; i < rows.end && i < mask.n_q; ++i)
    if (mask.sees[i][j]) return true;
  return false;
}

bool is_some_key_seen(const Mask& mask, int i, Range keys) {
  for (int j = keys.begin; j < keys.end && j < mask.n_k; ++j)
    if (mask.sees[i][j]) return true;
  return false;
}

/// Unions and classes of the tiles of `rows` x `keys`, one past the last included.
bool tiles_agree(const Visible& visible, const Mask& mask, int rows, int keys) {
  bool agree = true;
  for (int i = 0; i < mask.n_q + rows; i += rows) {
    const Range tile = {i, i + rows};
    agree &= same(visible.keys_of(tile),
                  range_of(mask.n_k, [&](int j) { return some_row_sees(mask, tile, j); }));
    for (int j = 0; j < mask.n_k + keys; j += keys)
      agree &= visible.classify(tile, {j, j + keys}) == class_of(mask, tile, {j, j + keys});
  }
  for (int j = 0; j < mask.n_k + keys; j += keys)
    agree &= same(visible.rows_of(Range{j, j + keys}), range_of(mask.n_q, [&](int i) {
                    return is_some_key_seen(mask, i, {j, j + keys});
                  }));
  return agree;
}

Mask mask_of(const AttentionProblem& problem) {
  Mask mask = {static_cast<int>(problem->n_q), static_cast<int>(problem->n_k), {}, {}};
  const Member member = problem.member(0);
  for (int i = 0; i < mask.n_q; ++i)
    for (int j = 0; j < mask.n_k; ++j) mask.sees[i][j] = problem.visible(member, i, j);
  const auto side = [](int64_t s) { return s == unbounded ? "inf" : std::to_string(s); };
  mask.text = "nq=" + std::to_string(mask.n_q) + " nk=" + std::to_string(mask.n_k) +
              (problem->causal ? " causal" : "") +
              " align=" + std::string(name(problem.alignment())) +
              " window=" + side(problem->window_left) + "," + side(problem->window_right);
  return mask;
}

/// Calls check(problem) for every mask.
template <class Check>
void for_all_masks(Check&& check) {
  std::vector<int64_t> sides = {unbounded};
  for (int64_t side = -3; side <= most + 1; ++side) sides.push_back(side);
  for (int n_q = 0; n_q <= most; ++n_q)
    for (int n_k = 0; n_k <= most; ++n_k)
      for (const int alignment : {FLASHBOOK_BOTTOM_RIGHT, FLASHBOOK_TOP_LEFT})
        for (const int causal : {0, 1})
          for (const int64_t left : sides)
            for (const int64_t right : sides) {
              flashbook_problem p = dense_problem(1, 1, 1, n_q, n_k, 1, 1);
              p.alignment = alignment;
              p.causal = causal;
              p.window_left = left;
              p.window_right = right;
              check(AttentionProblem(p));
            }
}

TEST_CASE("ranges, unions over tiles and tile classes say what the oracle's mask says") {
  std::size_t masks = 0, wrong = 0;
  std::string first;
  for_all_masks([&](const AttentionProblem& problem) {
    const Mask mask = mask_of(problem);
    const Visible visible = emulated::sizes_of(problem.fields()).visible;
    bool agree = ranges_agree(visible, mask);
    for (int rows = 1; rows <= 5; ++rows)
      for (int keys = 1; keys <= 5; ++keys) agree &= tiles_agree(visible, mask, rows, keys);
    if (!agree && first.empty()) first = mask.text;
    wrong += !agree;
    ++masks;
  });
  CAPTURE(first);
  CHECK(wrong == 0);
  CHECK(masks == 13 * 13 * 2 * 2 * 18 * 18);
}

TEST_CASE("ranges stay right at the largest sizes: no sum overflows") {
  constexpr int n = emulated::most_tokens;
  const Visible causal = {n, n, 0, n, 0};
  CHECK(same(causal.keys_of(n - 1), {0, n}));
  CHECK(same(causal.rows_of(n - 1), {n - 1, n}));
  CHECK(same(causal.rows_of(0), {0, n}));
  const Visible unbounded_sides = {n, 1, 1 - n, n, n};
  CHECK(same(unbounded_sides.keys_of(0), {0, 1}));
  CHECK(same(unbounded_sides.keys_of(Range{0, n}), {0, 1}));
  CHECK(unbounded_sides.classify({0, 64}, {0, 1}) == TileClass::full);
}

}  // namespace
}  // namespace flashbook
