#include "sim/io/fa2_forward.hpp"

#include "sim/io/online_softmax.hpp"
#include "sim/io/scores.hpp"
#include "sim/io/tensors.hpp"
#include "sim/io/tile_math.hpp"

namespace flashbook::io {
namespace {

class Fa2Forward {
 public:
  Fa2Forward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
             const RunOptions& options)
      : problem_(problem),
        options_(options),
        hbm_(bind_forward(hbm, problem, tensors)),
        scores_(problem, hbm_) {}

  /// One row tile: i fixed, j runs over the tiles with a visible pair.
  void row_tile(Sram& sram, const QueryTile& tile) const {
    const auto& [member, h, rows] = tile;
    const Index d = problem_->d, d_v = problem_->d_v, B_r = rows.size();
    const Index kv_head = problem_.kv_head(h);
    const float slope = scores_.load_slope(sram, member, h);

    const Tile Q = sram.load(hbm_.q, query_rows(member, h, rows, d));
    Tile O = sram.allocate("O", B_r, d_v), m = sram.allocate("m", B_r, 1),
         l = sram.allocate("l", B_r, 1);
    const SoftmaxState start =
        hbm_.sinks ? sink_state(sram.load_element(hbm_.sinks, 0, h, 0)) : SoftmaxState{};
    O.setZero();
    m.setConstant(start.m);
    l.setConstant(start.l);

    const Band band = band_of(problem_, member);
    const Range visited = tiles_touching(band.keys_seen_by(rows), options_.blocks.columns);
    for (Index j = visited.first; j < visited.last; ++j) {
      const Range keys = tile_of(j, options_.blocks.columns, member.n_k);
      const Tile K = sram.load(hbm_.k, key_rows(member, kv_head, keys, d));
      Tile V = sram.load(hbm_.v, key_rows(member, kv_head, keys, d_v));

      // S = scale · Q Kᵀ, capped, biased and masked
      Tile S = sram.allocate("S", B_r, keys.size());
      const ScoreTile at = {member, h, rows, keys};
      sram.count_visited_tile();
      if (scores_.compute(sram, at, slope, Q, K, S))
        silence_unseen_keys(S, minus_infinity_score, V);
      if (options_.observer) {
        observed_update(sram, at, S, V, m, l, O);
        continue;
      }
      update(sram, S, V, m, l, O);
    }

    // O = diag(ℓ)⁻¹ O,  LSE = m + ln ℓ; an empty row has ℓ = 0 and O = 0
    for (Index i = 0; i < B_r; ++i) {
      if (l(i) != 0) O.row(i) /= l(i);
      m(i) = SoftmaxState{m(i), l(i)}.lse();
    }
    sram.store(O, hbm_.o, query_rows(member, h, rows, d_v));
    sram.store(m, hbm_.lse, query_rows(member, h, rows, 1));
  }

 private:
  /// m, ℓ take in S;  P = exp(S − m);  O = diag(α) O + P V.
  void update(Sram& sram, Tile& S, const Tile& V, Tile& m, Tile& l, Tile& O) const {
    for (Index i = 0; i < S.rows(); ++i) {
      const float alpha = absorb(S.row(i).array(), m(i), l(i));
      if (alpha != 1) O.row(i) *= alpha;
    }
    Tile& P = S;
    round_tile(P, problem_.dtype());
    add_product(sram, O, P, V);
  }

  /// The same, narrated.
  void observed_update(Sram& sram, const ScoreTile& at, Tile& S, const Tile& V, Tile& m, Tile& l,
                       Tile& O) const {
    TileStep step = {at.member, at.head, at.rows, at.keys, S, {}, {}, {}, m, {}};
    update(sram, S, V, m, l, O);
    step.P = S;
    step.m = m;
    step.l = l;
    for (Index i = 0; i < m.size(); ++i) step.alpha(i) = rescale(step.alpha(i), m(i));
    step.O = O;
    options_.observer(step);
  }

  const AttentionProblem& problem_;
  const RunOptions& options_;
  const Tensors hbm_;
  const ScoreRule scores_;
};

}  // namespace

void fa2_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                 const RunOptions& options) {
  const Fa2Forward kernel(machine.hbm, problem, tensors, options);
  const std::vector<QueryTile> tiles = query_tiles(problem, options.blocks.rows);
  if (options.observer) machine.max_workers = 1;
  machine.launch(static_cast<Index>(tiles.size()), [&](Sram& sram, Index t) {
    kernel.row_tile(sram, tiles[static_cast<std::size_t>(t)]);
  });
}

}  // namespace flashbook::io
