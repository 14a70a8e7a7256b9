#pragma once

#include "sim/io/memory.hpp"
#include "sim/io/online_softmax.hpp"

/// What the kernels do to tiles: products, which are counted, and rounding.
namespace flashbook::io {

/// C = factor · A B.
template <class A, class B>
void set_product(Sram& sram, Tile& C, float factor, const A& a, const B& b) {
  C.noalias() = factor * a * b;
  sram.count_flops(2 * a.rows() * a.cols() * b.cols());
}

/// C += A B.
template <class A, class B>
void add_product(Sram& sram, Tile& C, const A& a, const B& b) {
  C.noalias() += a * b;
  sram.count_flops(2 * a.rows() * a.cols() * b.cols());
}

/// Rounds to the type a GPU would hold the tile in before it multiplies it.
inline void round_tile(Tile& tile, DType dtype) {
  if (dtype == DType::fp16) tile = tile.cast<half>().cast<float>();
  if (dtype == DType::bf16) tile = tile.cast<bfloat16>().cast<float>();
}

/// dX = dS ∘ H: the soft-cap's slope. A hidden pair's dS is 0 and stays so, whatever its score was.
inline void multiply_by_slope(Tile& dS, const Tile& H) {
  dS = (dS.array() == 0).select(0.f, dS.array() * H.array());
}

/// sum += dS, for the gradient of a bias: an axis along which `sum` is 1 long is summed.
inline void add_broadcast(const Tile& dS, Tile& sum) {
  for (Index i = 0; i < dS.rows(); ++i) {
    const Index row = sum.rows() == 1 ? 0 : i;
    if (sum.cols() == 1)
      sum(row, 0) += dS.row(i).sum();
    else
      sum.row(row) += dS.row(i);
  }
}

/// m = m + ln ℓ: the LSE, in m's place.
inline void to_lse(Tile& m, const Tile& l) {
  for (Index i = 0; i < m.rows(); ++i) m(i) = SoftmaxState{m(i), l(i)}.lse();
}

inline bool all_finite(const Tile& tile) {
  return (tile.array() - tile.array()).sum() == 0;
}

/// Whether a pair is hidden, by mask, bias or arithmetic.
inline bool hides_pairs(const Tile& S) {
  return (S.array() == minus_infinity).any();
}

/// Whether no row of the tile sees key j.
inline bool is_unseen(const Tile& S, Index j) {
  return (S.col(j).array() == minus_infinity).all();
}

/// Zeroes, for as long as it lives, the rows of a key tile (K or V) whose column of S is −∞
/// throughout: nobody sees them. Their weights will be 0, but what they hold must not matter, and
/// 0 · NaN is NaN. Other rows may see them yet.
class SilencedKeys {
 public:
  SilencedKeys(const Tile& S, Tile& keys) : keys_(keys) {
    if (all_finite(keys)) return;
    for (Index j = 0; j < S.cols(); ++j)
      if (is_unseen(S, j)) {
        before_.emplace_back(j, keys.row(j));
        keys.row(j).setZero();
      }
  }
  SilencedKeys(SilencedKeys&&) = default;
  ~SilencedKeys() {
    for (const auto& [j, row] : before_) keys_.row(j) = row;
  }

 private:
  Tile& keys_;
  std::vector<std::pair<Index, Matrix<float>>> before_;
};

/// Rows of S that are −∞ throughout, if 0 times what `factor` holds may be NaN; else none.
inline std::vector<Index> blind_rows(const Tile& S, const Tile& factor) {
  std::vector<Index> rows;
  if (all_finite(factor)) return rows;
  for (Index i = 0; i < S.rows(); ++i)
    if ((S.row(i).array() == minus_infinity).all()) rows.push_back(i);
  return rows;
}

/// Gives back, at its end, what these rows of a sum (O or dQ) were: they see no key of the tile.
class SparedRows {
 public:
  SparedRows(const std::vector<Index>& rows, Tile& sum) : sum_(sum) {
    for (const Index i : rows) before_.emplace_back(i, sum.row(i));
  }
  SparedRows(const SparedRows&) = delete;
  SparedRows& operator=(const SparedRows&) = delete;
  ~SparedRows() {
    for (const auto& [i, row] : before_) sum_.row(i) = row;
  }

 private:
  Tile& sum_;
  std::vector<std::pair<Index, Matrix<float>>> before_;
};

/// Zeroes likewise, for good, the rows of a query tile (Q or dO) that see no key.
inline void silence_blind_queries(const Tile& S, Tile& queries) {
  if (all_finite(queries)) return;
  for (Index i = 0; i < S.rows(); ++i)
    if ((S.row(i).array() == minus_infinity).all()) queries.row(i).setZero();
}

}  // namespace flashbook::io
