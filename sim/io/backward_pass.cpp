#include "sim/io/backward_pass.hpp"

#include "sim/io/online_softmax.hpp"

namespace flashbook::io {
namespace {

// [delta]
/// D = rowsum(dO ∘ O). An empty row's O is wholly 0, and its Δ is 0 whatever dO
/// holds.
void row_dots(const Tile& dO, const Tile& O, Tile& D) {
  for (Index i = 0; i < D.rows(); ++i) {
    const bool is_empty = O.row(i).isZero(0);
    D(i) = is_empty ? 0 : O.row(i).dot(dO.row(i));
  }
}
// [/delta]

}  // namespace

// ---- loads

Tile BackwardPass::load_lse(Sram& sram, const QueryTile& tile) const {
  const auto& [member, head, rows] = tile;
  return sram.load(hbm_.lse, query_rows(member, head, rows, 1));
}

QuerySide BackwardPass::load_queries(Sram& sram, const QueryTile& tile) const {
  if (!delta_) return load_queries_and_o(sram, tile);
  const auto& [member, head, rows] = tile;
  return {sram.load(hbm_.q, query_rows(member, head, rows, problem_->d)),
          sram.load(hbm_.grad_o, query_rows(member, head, rows, problem_->d_v)),
          load_lse(sram, tile), sram.load(delta_, query_rows(member, head, rows, 1))};
}

QuerySide BackwardPass::load_queries_and_o(Sram& sram, const QueryTile& tile) const {
  const auto& [member, head, rows] = tile;
  const Region values = query_rows(member, head, rows, problem_->d_v);
  QuerySide queries = {sram.load(hbm_.q, query_rows(member, head, rows, problem_->d)),
                       sram.load(hbm_.grad_o, values), load_lse(sram, tile),
                       sram.allocate("delta", rows.size(), 1), sram.load(hbm_.o, values)};
  row_dots(queries.dO, *queries.O, queries.D);
  if (hbm_.grad_lse) queries.D -= sram.load(hbm_.grad_lse, query_rows(member, head, rows, 1));
  return queries;
}

KeySide BackwardPass::load_keys(Sram& sram, const KeyTile& tile) const {
  const auto& [member, kv_head, keys] = tile;
  return {sram.load(hbm_.k, key_rows(member, kv_head, keys, problem_->d)),
          sram.load(hbm_.v, key_rows(member, kv_head, keys, problem_->d_v))};
}

void BackwardPass::store_zeros(Sram& sram, Tensor tensor, const Region& region) {
  Tile zeros = sram.allocate("zeros", region.rows, region.columns);
  zeros.setZero();
  sram.show("zeros", zeros);
  sram.store(zeros, tensor, region);
}

// ---- P and dS of one visited tile, recomputed

/// S = scale · Q Kᵀ, capped, biased and masked.
ScoreGradient BackwardPass::recompute(Sram& sram, const ScoreTile& at, float slope, const Tile& Q,
                                      const Tile& K) const {
  const Index B_r = at.rows.size(), B_c = at.keys.size();
  ScoreGradient tile = {sram.allocate("S", B_r, B_c), sram.allocate("dS", B_r, B_c)};
  if (problem_->softcap > 0) tile.H.emplace(sram.allocate("H", B_r, B_c));
  sram.count_visited_tile();
  scores_.compute(sram, at, slope, Q, K, tile.S, tile.H ? &*tile.H : nullptr);
  tile.hides_pairs = hides_pairs(tile.S);
  if (tile.hides_pairs) tile.blind = blind_rows(tile.S, K);
  return tile;
}

// [differentiate]
/// P = exp(S − LSE);  dS = P ∘ (dO Vᵀ − D). A hidden pair's P and dS are 0.
void BackwardPass::differentiate(Sram& sram, ScoreGradient& tile,  // S → P, dS
                                 const QuerySide& queries,         // dO, LSE, Δ
                                 const KeySide& keys) const {
  set_product(sram, tile.dS, 1, queries.dO, keys.V.transpose());
  sram.show("LSE", queries.lse);
  sram.show("dP = dO Vᵀ", tile.dS);
  sram.show("Δ = rowsum(dO ∘ O)", queries.D);
  for (Index i = 0; i < tile.S.rows(); ++i) {
    auto s = tile.S.row(i).array(), ds = tile.dS.row(i).array();
    const float lse = shift_of(queries.lse(i));
    if (tile.hides_pairs) {
      // Selected first: hidden pairs are 0 even in a row that is NaN.
      const auto hidden = s == minus_infinity;
      ds = hidden.select(0.f, ds - queries.D(i));
      s = weights(hidden.select(s, s - lse));
    } else {
      ds -= queries.D(i);
      s = weights(s - lse);
    }
    ds *= s;
  }
  sram.show("P = exp(S − LSE)", tile.S);
  sram.show("dS = P ∘ (dP − Δ)", tile.dS);
}
// [/differentiate]

void BackwardPass::to_operand(ScoreGradient& tile) const {
  if (tile.H) multiply_by_slope(tile.dS, *tile.H);
  round_tile(tile.dS, problem_.dtype());
}

// ---- dK_j = scale · Σ_i dX_ijᵀ Q_i and dV_j = Σ_i P_ijᵀ dO_i, over the heads of the group

KeyPass BackwardPass::start(Sram& sram, const KeyTile& tile) const {
  const Index B_c = tile.keys.size();
  KeyPass pass = {tile,
                  load_keys(sram, tile),
                  sram.allocate("dK", B_c, problem_->d),
                  sram.allocate("dV", B_c, problem_->d_v),
                  {}};
  pass.dK.setZero();
  pass.dV.setZero();
  for (Index g = 0; g < problem_.group(); ++g)
    pass.slopes.push_back(
        scores_.load_slope(sram, tile.member, tile.kv_head * problem_.group() + g));
  return pass;
}

// [visit]
ScoreGradient BackwardPass::visit(Sram& sram, KeyPass& pass,  // K, V, dK, dV
                                  const QueryTile& tile,
                                  QuerySide& queries) const {  // Q, dO, LSE, Δ
  const auto& [member, head, rows] = tile;
  const auto g = static_cast<std::size_t>(head % problem_.group());
  const float slope = pass.slopes[g];
  const ScoreTile at = {member, head, rows, pass.at.keys};
  ScoreGradient visited = recompute(sram, at, slope, queries.Q, pass.keys.K);
  if (visited.hides_pairs) {
    silence_blind_queries(visited.S, queries.Q);
    silence_blind_queries(visited.S, queries.dO);
    visited.silenced.emplace(visited.S, pass.keys.K);
  }
  differentiate(sram, visited, queries, pass.keys);
  Tile& P = visited.S;
  round_tile(P, problem_.dtype());
  add_product(sram, pass.dV, P.transpose(), queries.dO);
  sram.show("dV += Pᵀ dO", P.transpose() * queries.dO);
  to_operand(visited);
  add_product(sram, pass.dK, visited.dS.transpose(), queries.Q);
  sram.show("dK += dSᵀ Q", visited.dS.transpose() * queries.Q);
  return visited;
}
// [/visit]

void BackwardPass::finish(Sram& sram, KeyPass& pass) const {
  const auto& [member, kv_head, keys] = pass.at;
  pass.dK *= static_cast<float>(problem_->scale);
  sram.show("dK = scale · Σ dSᵀ Q", pass.dK);
  sram.show("dV = Σ Pᵀ dO", pass.dV);
  sram.store(pass.dK, hbm_.grad_k, key_rows(member, kv_head, keys, problem_->d));
  sram.store(pass.dV, hbm_.grad_v, key_rows(member, kv_head, keys, problem_->d_v));
  sram.end_step();
}

std::vector<QueryTile> BackwardPass::rows_that_see(const KeyTile& tile) const {
  const auto& [member, kv_head, keys] = tile;
  const Range visited = row_tiles_of(problem_, member, keys, blocks_.rows);
  std::vector<QueryTile> tiles;
  for (Index g = 0; g < problem_.group(); ++g)
    for (Index i = visited.first; i < visited.last; ++i)
      tiles.push_back(
          {member, kv_head * problem_.group() + g, tile_of(i, blocks_.rows, member.n_q)});
  return tiles;
}

// ---- Δ: D_i = Σ_k dO_ik O_ik − dLSE_i, and dSink = −Σ_i P_z,i D_i with P_z = e^(z − LSE)

void BackwardPass::launch_delta(Machine& machine) const {
  machine.launch(problem_->heads_q,
                 [&](Sram& sram, Index head) { delta_kernel(sram, head, delta_); });
}

void BackwardPass::launch_sinks(Machine& machine) const {
  if (!hbm_.sinks) return;
  machine.launch(problem_->heads_q, [&](Sram& sram, Index head) { delta_kernel(sram, head, {}); });
}

void BackwardPass::delta_kernel(Sram& sram, Index head, Tensor kept) const {
  const float sink = hbm_.sinks ? sram.load_element(hbm_.sinks, 0, head, 0) : minus_infinity;
  float grad_sink = 0;
  for (Index b = 0; b < problem_->members; ++b) {
    const Member member = problem_.member(b);
    for (Index i = 0; i * blocks_.rows < member.n_q; ++i) {
      grad_sink +=
          delta_tile(sram, {member, head, tile_of(i, blocks_.rows, member.n_q)}, sink, kept);
      sram.end_step();
    }
  }
  if (hbm_.sinks) sram.store_element(grad_sink, hbm_.grad_sinks, 0, head, 0);
}

/// Stores D where it is kept, and returns the tile's share of dSink.
float BackwardPass::delta_tile(Sram& sram, const QueryTile& tile, float sink, Tensor kept) const {
  const auto& [member, head, rows] = tile;
  const Region vector = query_rows(member, head, rows, 1);
  Tile D = sram.allocate("delta", rows.size(), 1);
  {
    const Tile O = sram.load(hbm_.o, query_rows(member, head, rows, problem_->d_v));
    const Tile dO = sram.load(hbm_.grad_o, query_rows(member, head, rows, problem_->d_v));
    row_dots(dO, O, D);
  }
  if (hbm_.grad_lse) D -= sram.load(hbm_.grad_lse, vector);
  sram.show("Δ = rowsum(dO ∘ O)", D);
  if (kept) sram.store(D, kept, vector);
  if (!hbm_.sinks) return 0;

  const Tile lse = load_lse(sram, tile);
  float grad_sink = 0;
  for (Index i = 0; i < D.rows(); ++i) grad_sink -= sink_weight(sink, lse(i)) * D(i);
  return grad_sink;
}

// ---- dBias = Σ dS over the members, heads, rows and keys that an element of it was broadcast to

void BackwardPass::launch_bias(Machine& machine) const {
  if (!hbm_.bias) return;
  launch_over(machine, bias_tiles(problem_, blocks_),
              [&](Sram& sram, const BiasTile& tile) { bias_kernel(sram, tile); });
}

void BackwardPass::bias_kernel(Sram& sram, const BiasTile& tile) const {
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
void BackwardPass::add_head(Sram& sram, const Member& member, Index h, const BiasTile& tile,
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
      const QuerySide queries = load_queries(sram, {member, h, rows});
      const KeySide key_side = load_keys(sram, {member, problem_.kv_head(h), keys});
      ScoreGradient visited =
          recompute(sram, {member, h, rows, keys}, slope, queries.Q, key_side.K);
      differentiate(sram, visited, queries, key_side);
      add_broadcast(visited.dS, sum);
      sram.end_step();
    }
  }
}

}  // namespace flashbook::io
