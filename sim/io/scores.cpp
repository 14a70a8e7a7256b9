#include "sim/io/scores.hpp"

#include <cmath>

#include "sim/io/tile_math.hpp"

namespace flashbook::io {
namespace {

/// S −= slope · |j − diagonal(i)|.
void add_alibi(const ScoreTile& at, Index diagonal_of_row_0, float slope, Tile& S) {
  for (Index i = 0; i < S.rows(); ++i) {
    const Index diagonal = at.rows.first + i + diagonal_of_row_0;
    for (Index j = 0; j < S.cols(); ++j)
      S(i, j) -= slope * static_cast<float>(std::abs(diagonal - (at.keys.first + j)));
  }
}

/// Every row sees one run of the tile's keys: what lies before and after it is hidden.
void mask(const Band& band, const ScoreTile& at, Tile& S) {
  for (Index i = 0; i < S.rows(); ++i) {
    const Index row = at.rows.first + i;
    Range seen = intersection(band.keys_seen_by({row, row + 1}), at.keys);
    if (seen.empty()) seen = {at.keys.first, at.keys.first};
    S.row(i).head(seen.first - at.keys.first).setConstant(minus_infinity);
    S.row(i).tail(at.keys.last - seen.last).setConstant(minus_infinity);
  }
}

}  // namespace

float ScoreRule::load_slope(Sram& sram, const Member& member, Index head) const {
  return hbm_.alibi ? sram.load_element(hbm_.alibi, member.index, head, 0) : 0.f;
}

Region ScoreRule::bias_region(const ScoreTile& at) const {
  const auto& shape = problem_->bias_shape;
  return {at.member.batch,
          at.head,
          at.member.first_q + at.rows.first,
          shape[2] == 1 ? 1 : at.rows.size(),
          at.member.first_k + at.keys.first,
          shape[3] == 1 ? 1 : at.keys.size()};
}

void ScoreRule::compute(Sram& sram, const ScoreTile& at, float slope, const Tile& Q, const Tile& K,
                        Tile& S, Tile* H) const {
  set_product(sram, S, static_cast<float>(problem_->scale), Q, K.transpose());
  if (problem_->softcap > 0) soft_cap(S, H);
  if (hbm_.alibi) add_alibi(at, diagonal_of(problem_, at.member), slope, S);
  if (hbm_.bias) add_bias(sram, at, S);
  const Band band = band_of(problem_, at.member);
  if (band.classify(at.rows, at.keys) != TileClass::full) mask(band, at, S);
  sram.show_scores(at, S);
}

void ScoreRule::soft_cap(Tile& S, Tile* H) const {
  const float cap = static_cast<float>(problem_->softcap);
  S = S.unaryExpr([cap](float x) { return std::tanh(x / cap); });
  if (H != nullptr) *H = (1 - S.array().square()).matrix();
  S *= cap;
}

void ScoreRule::add_bias(Sram& sram, const ScoreTile& at, Tile& S) const {
  const Tile bias = sram.load(hbm_.bias, bias_region(at));
  for (Index i = 0; i < S.rows(); ++i)
    for (Index j = 0; j < S.cols(); ++j) {
      const float b = bias(bias.rows() == 1 ? 0 : i, bias.cols() == 1 ? 0 : j);
      // −∞ hides: it is selected, not added, so that it also hides a NaN.
      S(i, j) = b == minus_infinity ? b : S(i, j) + b;
    }
}

}  // namespace flashbook::io
