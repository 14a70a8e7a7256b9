#include "sim/io/forward_steps.hpp"

#include "sim/io/tile_math.hpp"

namespace flashbook::io {

void RowState::divide_by_l(Sram& sram) {
  for (Index i = 0; i < O.rows(); ++i)
    if (l(i) != 0) O.row(i) /= l(i);
  sram.show("O = diag(ℓ)⁻¹ O", O);
}

Tile& RowState::lse_in_place(Sram& sram) {
  to_lse(m, l);
  sram.show("LSE = m + ln ℓ", m);
  return m;
}

SoftmaxState ForwardSteps::load_first_state(Sram& sram, Index head) const {
  if (!hbm_.sinks) return {};
  return state_of_part(sram.load_element(hbm_.sinks, 0, head, 0));
}

KeyValueTile ForwardSteps::load_keys(Sram& sram, const Member& member, Index head, Index j) const {
  const Index kv_head = problem_.kv_head(head);
  const Range keys = tile_of(j, options_.blocks.columns, member.n_k);
  return {keys, sram.load(hbm_.k, key_rows(member, kv_head, keys, problem_->d)),
          sram.load(hbm_.v, key_rows(member, kv_head, keys, problem_->d_v))};
}

RowState ForwardSteps::start(Sram& sram, Index rows, const SoftmaxState& first) const {
  RowState state = {sram.allocate("O", rows, problem_->d_v), sram.allocate("m", rows, 1),
                    sram.allocate("l", rows, 1)};
  state.O.setZero();
  state.m.setConstant(first.m);
  state.l.setConstant(first.l);
  return state;
}

void ForwardSteps::take_in(Sram& sram, RowTile& row, KeyValueTile& keys) const {
  const auto& [member, h, rows] = row.at;
  Tile S = sram.allocate("S", rows.size(), keys.keys.size());
  sram.count_visited_tile();
  scores_.compute(sram, {member, h, rows, keys.keys}, row.slope, row.Q, keys.K, S);
  const SilencedKeys silenced(S, keys.V);
  const SparedRows spared(blind_rows(S, keys.V), row.state.O);
  update(sram, S, keys.V, row.state);
}

void ForwardSteps::take_in(Sram& sram, RowTile& row, Range key_tiles) const {
  for (Index j = key_tiles.first; j < key_tiles.last; ++j) {
    KeyValueTile keys = load_keys(sram, row.at.member, row.at.head, j);
    take_in(sram, row, keys);
    sram.end_step();
  }
}

// [update]
/// m, ℓ take in S;  α = exp(m_old − m);
/// P = exp(S − m), in S's place;  O = diag(α) O + P V.
void ForwardSteps::update(Sram& sram, Tile& S, const Tile& V,  // S becomes P
                          RowState& row) const {
  Vector<float> alpha(S.rows());
  sram.show("m_old", row.m);
  for (Index i = 0; i < S.rows(); ++i) {
    alpha(i) = absorb(S.row(i).array(), row.m(i), row.l(i));
    if (alpha(i) != 1) row.O.row(i) *= alpha(i);
  }
  Tile& P = S;
  round_tile(P, problem_.dtype());
  add_product(sram, row.O, P, V);
  sram.show("m = max(m_old, rowmax S)", row.m);
  sram.show("α = exp(m_old − m)", alpha);
  sram.show("P = exp(S − m)", P);
  sram.show("ℓ = α ℓ + rowsum P", row.l);
  sram.show("O = diag(α) O + P V", row.O);
}
// [/update]

}  // namespace flashbook::io
