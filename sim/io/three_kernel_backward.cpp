#include "sim/io/three_kernel_backward.hpp"

#include <cmath>

#include "sim/io/online_softmax.hpp"
#include "sim/io/scores.hpp"
#include "sim/io/tensors.hpp"
#include "sim/io/tile_math.hpp"

namespace flashbook::io {
namespace {

/// What a kernel holds of the query side of one row tile.
struct QuerySide {
  Tile Q, dO;   ///< [B_r, d], [B_r, d_v]
  Tile lse, D;  ///< [B_r]
};

/// What it holds of the key side of one key tile.
struct KeySide {
  Tile K, V;  ///< [B_c, d], [B_c, d_v]
};

class Backward {
 public:
  Backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
           const Blocks& blocks)
      : problem_(problem),
        blocks_(blocks),
        hbm_(bind_backward(hbm, problem, tensors)),
        delta_(hbm.add_workspace("delta", Kind::vector, DType::fp32,
                                 {problem->batch, problem->heads_q, problem->n_q, 1})),
        scores_(problem, hbm_) {}

  void delta_kernel(Sram& sram, Index head) const;
  void key_kernel(Sram& sram, const KeyTile& tile) const;
  void query_kernel(Sram& sram, const QueryTile& tile) const;
  void bias_kernel(Sram& sram, const BiasTile& tile) const;

 private:
  QuerySide load_queries(Sram& sram, const Member& member, Index head, Range rows) const;
  KeySide load_keys(Sram& sram, const Member& member, Index kv_head, Range keys) const;
  float delta_tile(Sram& sram, const QueryTile& tile, float sink) const;
  template <class Silence, class Use>
  void recompute(Sram& sram, const ScoreTile& at, float slope, const QuerySide& queries,
                 const KeySide& keys, const Silence& silence, const Use& use) const;
  void to_operand(Tile& dS, const Tile* H) const;
  void add_head(Sram& sram, const Member& member, Index head, const BiasTile& tile,
                Tile& sum) const;

  const AttentionProblem& problem_;
  const Blocks blocks_;
  const Tensors hbm_;
  const Tensor delta_;  ///< D = Δ − dLSE, [B, H_q, N_q]
  const ScoreRule scores_;
};

QuerySide Backward::load_queries(Sram& sram, const Member& member, Index head, Range rows) const {
  return {sram.load(hbm_.q, query_rows(member, head, rows, problem_->d)),
          sram.load(hbm_.grad_o, query_rows(member, head, rows, problem_->d_v)),
          sram.load(hbm_.lse, query_rows(member, head, rows, 1)),
          sram.load(delta_, query_rows(member, head, rows, 1))};
}

KeySide Backward::load_keys(Sram& sram, const Member& member, Index kv_head, Range keys) const {
  return {sram.load(hbm_.k, key_rows(member, kv_head, keys, problem_->d)),
          sram.load(hbm_.v, key_rows(member, kv_head, keys, problem_->d_v))};
}

// ---- Δ: D_i = Σ_k dO_ik O_ik − dLSE_i, and dSink = −Σ_i P_z,i D_i with P_z = e^(z − LSE)

void Backward::delta_kernel(Sram& sram, Index head) const {
  const float sink = hbm_.sinks ? sram.load_element(hbm_.sinks, 0, head, 0) : minus_infinity;
  float grad_sink = 0;
  for (Index b = 0; b < problem_->members; ++b) {
    const Member member = problem_.member(b);
    for (Index i = 0; i * blocks_.rows < member.n_q; ++i)
      grad_sink += delta_tile(sram, {member, head, tile_of(i, blocks_.rows, member.n_q)}, sink);
  }
  if (hbm_.sinks) sram.store_element(grad_sink, hbm_.grad_sinks, 0, head, 0);
}

/// Returns the tile's share of dSink.
float Backward::delta_tile(Sram& sram, const QueryTile& tile, float sink) const {
  const auto& [member, head, rows] = tile;
  const Region vector = query_rows(member, head, rows, 1);
  Tile D = sram.allocate("delta", rows.size(), 1);
  {
    const Tile O = sram.load(hbm_.o, query_rows(member, head, rows, problem_->d_v));
    const Tile dO = sram.load(hbm_.grad_o, query_rows(member, head, rows, problem_->d_v));
    // An empty row's O is wholly 0 and its Δ is 0, whatever dO holds.
    for (Index i = 0; i < D.rows(); ++i) D(i) = O.row(i).isZero(0) ? 0 : O.row(i).dot(dO.row(i));
  }
  if (hbm_.grad_lse) D -= sram.load(hbm_.grad_lse, vector);
  sram.store(D, delta_, vector);
  if (!hbm_.sinks) return 0;

  const Tile lse = sram.load(hbm_.lse, vector);
  float grad_sink = 0;
  for (Index i = 0; i < D.rows(); ++i) grad_sink -= sink_weight(sink, lse(i)) * D(i);
  return grad_sink;
}

// ---- P and dS of one visited tile, recomputed

/// P = exp(S − LSE);  dS = P ∘ (dO Vᵀ − D);  calls use(P, dS, H): H is the soft-cap's slope or
/// null, and a hidden pair's P and dS are 0. Before that, if S hides pairs, silence(S) may zero
/// what no visible pair of the tile touches.
template <class Silence, class Use>
void Backward::recompute(Sram& sram, const ScoreTile& at, float slope, const QuerySide& queries,
                         const KeySide& keys, const Silence& silence, const Use& use) const {
  const Index B_r = at.rows.size(), B_c = at.keys.size();
  Tile S = sram.allocate("S", B_r, B_c), dS = sram.allocate("dS", B_r, B_c);
  std::optional<Tile> H;
  if (problem_->softcap > 0) H.emplace(sram.allocate("H", B_r, B_c));
  sram.count_visited_tile();
  scores_.compute(sram, at, slope, queries.Q, keys.K, S, H ? &*H : nullptr);
  const bool hides = scores_.hides_pairs(at, S);
  if (hides) silence(S);
  set_product(sram, dS, 1, queries.dO, keys.V.transpose());  // dP

  for (Index i = 0; i < B_r; ++i) {
    auto s = S.row(i).array(), ds = dS.row(i).array();
    const float lse = shift_of(queries.lse(i));
    if (hides) {
      // Selected before the arithmetic: even in a row that is NaN, hidden pairs are 0.
      const auto hidden = s == minus_infinity;
      ds = hidden.select(0.f, ds - queries.D(i));
      s = weights(hidden.select(s, s - lse));
    } else {
      ds -= queries.D(i);
      s = weights(s - lse);
    }
    ds *= s;
  }
  use(S, dS, H ? &*H : nullptr);
}

/// dX = dS ∘ H, rounded as the operand of a product.
void Backward::to_operand(Tile& dS, const Tile* H) const {
  if (H != nullptr) multiply_by_slope(dS, *H);
  round_tile(dS, problem_.dtype());
}

// ---- dK_j = scale · Σ_i dX_ijᵀ Q_i and dV_j = Σ_i P_ijᵀ dO_i, over the heads of the group

void Backward::key_kernel(Sram& sram, const KeyTile& tile) const {
  const auto& [member, kv_head, keys] = tile;
  const KeySide key_side = load_keys(sram, member, kv_head, keys);
  Tile dK = sram.allocate("dK", keys.size(), problem_->d);
  Tile dV = sram.allocate("dV", keys.size(), problem_->d_v);
  dK.setZero();
  dV.setZero();

  const Range visited = tiles_touching(band_of(problem_, member).rows_that_see(keys), blocks_.rows);
  for (Index g = 0; g < problem_.group(); ++g) {
    const Index h = kv_head * problem_.group() + g;
    const float slope = scores_.load_slope(sram, member, h);
    for (Index i = visited.first; i < visited.last; ++i) {
      const Range rows = tile_of(i, blocks_.rows, member.n_q);
      QuerySide queries = load_queries(sram, member, h, rows);
      const auto silence = [&](const Tile& S) {
        silence_blind_queries(S, queries.Q);
        silence_blind_queries(S, queries.dO);
      };
      recompute(sram, {member, h, rows, keys}, slope, queries, key_side, silence,
                [&](Tile& P, Tile& dS, const Tile* H) {
                  round_tile(P, problem_.dtype());
                  add_product(sram, dV, P.transpose(), queries.dO);
                  to_operand(dS, H);
                  add_product(sram, dK, dS.transpose(), queries.Q);
                });
    }
  }
  dK *= static_cast<float>(problem_->scale);
  sram.store(dK, hbm_.grad_k, key_rows(member, kv_head, keys, problem_->d));
  sram.store(dV, hbm_.grad_v, key_rows(member, kv_head, keys, problem_->d_v));
}

// ---- dQ_i = scale · Σ_j dX_ij K_j

void Backward::query_kernel(Sram& sram, const QueryTile& tile) const {
  const auto& [member, h, rows] = tile;
  const Index kv_head = problem_.kv_head(h);
  const float slope = scores_.load_slope(sram, member, h);
  const QuerySide queries = load_queries(sram, member, h, rows);
  Tile dQ = sram.allocate("dQ", rows.size(), problem_->d);
  dQ.setZero();

  const Range visited =
      tiles_touching(band_of(problem_, member).keys_seen_by(rows), blocks_.columns);
  for (Index j = visited.first; j < visited.last; ++j) {
    const Range keys = tile_of(j, blocks_.columns, member.n_k);
    KeySide key_side = load_keys(sram, member, kv_head, keys);
    const auto silence = [&](const Tile& S) { silence_unseen_keys(S, key_side.K); };
    recompute(sram, {member, h, rows, keys}, slope, queries, key_side, silence,
              [&](Tile&, Tile& dS, const Tile* H) {
                to_operand(dS, H);
                add_product(sram, dQ, dS, key_side.K);
              });
  }
  dQ *= static_cast<float>(problem_->scale);
  sram.store(dQ, hbm_.grad_q, query_rows(member, h, rows, problem_->d));
}

// ---- dBias = Σ dS over the members, heads, rows and keys that an element of it was broadcast to

void Backward::bias_kernel(Sram& sram, const BiasTile& tile) const {
  Tile sum = sram.allocate("dbias", tile.queries.stored.size(), tile.keys.stored.size());
  sum.setZero();
  for (Index b = 0; b < problem_->members; ++b) {
    const Member member = problem_.member(b);
    if (!tile.shared_by(member)) continue;
    for (Index h = tile.heads.first; h < tile.heads.last; ++h) add_head(sram, member, h, tile, sum);
  }
  sram.store(sum, hbm_.grad_bias, tile.stored());
}

/// sum += dS of the visited tiles of one head that share a tile of the bias.
void Backward::add_head(Sram& sram, const Member& member, Index h, const BiasTile& tile,
                        Tile& sum) const {
  const Band band = band_of(problem_, member);
  const Range i_range = tile.queries.tiles(member.first_q, member.n_q, blocks_.rows);
  const Range j_range = tile.keys.tiles(member.first_k, member.n_k, blocks_.columns);
  for (Index i = i_range.first; i < i_range.last; ++i) {
    const Range rows = tile_of(i, blocks_.rows, member.n_q);
    for (Index j = j_range.first; j < j_range.last; ++j) {
      const Range keys = tile_of(j, blocks_.columns, member.n_k);
      if (band.classify(rows, keys) == TileClass::skip) continue;
      const float slope = scores_.load_slope(sram, member, h);
      const QuerySide queries = load_queries(sram, member, h, rows);
      const KeySide key_side = load_keys(sram, member, problem_.kv_head(h), keys);
      recompute(
          sram, {member, h, rows, keys}, slope, queries, key_side, [](const Tile&) {},
          [&](Tile&, Tile& dS, const Tile*) { add_broadcast(dS, sum); });
    }
  }
}

}  // namespace

void three_kernel_backward(Machine& machine, const AttentionProblem& problem,
                           const RunTensors& tensors, const RunOptions& options) {
  const Backward backward(machine.hbm, problem, tensors, options.blocks);
  const auto launch = [&](const auto& tiles, auto kernel) {
    machine.launch(static_cast<Index>(tiles.size()), [&](Sram& sram, Index t) {
      (backward.*kernel)(sram, tiles[static_cast<std::size_t>(t)]);
    });
  };
  machine.launch(problem->heads_q,
                 [&](Sram& sram, Index head) { backward.delta_kernel(sram, head); });
  launch(key_tiles(problem, options.blocks.columns), &Backward::key_kernel);
  launch(query_tiles(problem, options.blocks.rows), &Backward::query_kernel);
  if (problem->has_bias) launch(bias_tiles(problem, options.blocks), &Backward::bias_kernel);
}

}  // namespace flashbook::io
