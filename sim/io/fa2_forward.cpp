#include "sim/io/fa2_forward.hpp"

#include "sim/io/online_softmax.hpp"
#include "sim/io/scores.hpp"
#include "sim/io/tensors.hpp"
#include "sim/io/tile_math.hpp"

namespace flashbook::io {
namespace {

/// What a worker holds of one row tile while the keys stream past.
struct RowTile {
  const QueryTile& at;
  float slope;  ///< ALiBi's
  Tile Q;       ///< [B_r, d]
  Tile O;       ///< [B_r, d_v], not yet divided by ℓ
  Tile m, l;    ///< [B_r]
};

class Fa2Forward {
 public:
  Fa2Forward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
             const RunOptions& options)
      : problem_(problem),
        options_(options),
        hbm_(bind_forward(hbm, problem, tensors)),
        scores_(problem, hbm_) {}

  /// Algorithm 1 for one i: j runs over the tiles with a visible pair.
  void row_tile(Sram& sram, const QueryTile& tile) const {
    RowTile row = start(sram, tile);
    const Band band = band_of(problem_, tile.member);
    const Range visited = tiles_touching(band.keys_seen_by(tile.rows), options_.blocks.columns);
    for (Index j = visited.first; j < visited.last; ++j)
      take_in(sram, row, tile_of(j, options_.blocks.columns, tile.member.n_k));
    finish(sram, row);
  }

 private:
  /// Q_i from HBM;  O = 0, ℓ = 0, m = −∞, or what a sink makes of them.
  RowTile start(Sram& sram, const QueryTile& tile) const {
    const auto& [member, h, rows] = tile;
    const Index B_r = rows.size();
    RowTile row = {tile,
                   scores_.load_slope(sram, member, h),
                   sram.load(hbm_.q, query_rows(member, h, rows, problem_->d)),
                   sram.allocate("O", B_r, problem_->d_v),
                   sram.allocate("m", B_r, 1),
                   sram.allocate("l", B_r, 1)};
    const SoftmaxState state =
        hbm_.sinks ? sink_state(sram.load_element(hbm_.sinks, 0, h, 0)) : SoftmaxState{};
    row.O.setZero();
    row.m.setConstant(state.m);
    row.l.setConstant(state.l);
    return row;
  }

  /// K_j, V_j from HBM;  S = scale · Q Kᵀ, capped, biased and masked;  the row tile's update.
  void take_in(Sram& sram, RowTile& row, Range keys) const {
    const auto& [member, h, rows] = row.at;
    const Index kv_head = problem_.kv_head(h);
    const Tile K = sram.load(hbm_.k, key_rows(member, kv_head, keys, problem_->d));
    Tile V = sram.load(hbm_.v, key_rows(member, kv_head, keys, problem_->d_v));
    Tile S = sram.allocate("S", rows.size(), keys.size());
    sram.count_visited_tile();
    scores_.compute(sram, {member, h, rows, keys}, row.slope, row.Q, K, S);
    silence_unseen_keys(S, V);

    const bool observed = options_.observer != nullptr;
    const Matrix<float> scores = observed ? Matrix<float>(S) : Matrix<float>();
    Vector<float> alpha(rows.size());
    update(sram, S, V, row, alpha);
    const Tile& P = S;
    if (observed) options_.observer({member, h, rows, keys, scores, P, row.m, row.l, alpha, row.O});
  }

  /// m, ℓ take in S;  α = exp(m_old − m);  P = exp(S − m), in S's place;  O = diag(α) O + P V.
  void update(Sram& sram, Tile& S, const Tile& V, RowTile& row, Vector<float>& alpha) const {
    for (Index i = 0; i < S.rows(); ++i) {
      alpha(i) = absorb(S.row(i).array(), row.m(i), row.l(i));
      if (alpha(i) != 1) row.O.row(i) *= alpha(i);
    }
    Tile& P = S;
    round_tile(P, problem_.dtype());
    add_product(sram, row.O, P, V);
  }

  /// O = diag(ℓ)⁻¹ O,  LSE = m + ln ℓ, to HBM. An empty row has ℓ = 0 and O = 0.
  void finish(Sram& sram, RowTile& row) const {
    const auto& [member, h, rows] = row.at;
    Tile& lse = row.m;
    for (Index i = 0; i < rows.size(); ++i) {
      if (row.l(i) != 0) row.O.row(i) /= row.l(i);
      lse(i) = SoftmaxState{row.m(i), row.l(i)}.lse();
    }
    sram.store(row.O, hbm_.o, query_rows(member, h, rows, problem_->d_v));
    sram.store(lse, hbm_.lse, query_rows(member, h, rows, 1));
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
