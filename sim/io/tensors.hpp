#pragma once

#include "sim/io/algorithms.hpp"

/// A problem's tensors in simulated HBM, and the tiles of work it is cut into.
namespace flashbook::io {

/// Absent where the problem or the pass has no such tensor.
struct Tensors {
  Tensor q, k, v, bias, alibi, sinks;  ///< inputs
  Tensor o, lse;                       ///< written forward, read backward
  Tensor grad_o, grad_lse;             ///< dO, dLSE
  Tensor grad_q, grad_k, grad_v, grad_bias, grad_sinks;
};

Tensors bind_forward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors);
Tensors bind_backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors);

/// A workspace of `channels` fp32 numbers a query row, `parts` times: [parts · B, H_q, N_q,
/// channels].
Tensor add_row_workspace(Hbm& hbm, const AttentionProblem& problem, const char* name, Kind kind,
                         Index channels, Index parts = 1);

/// Rows of one query head of a member: in Q, O, dO, dQ ([.., channels]), LSE and Δ (1 channel).
inline Region query_rows(const Member& member, Index head, Range rows, Index channels) {
  return {member.batch, head, member.first_q + rows.first, rows.size(), 0, channels};
}

/// Rows of one key/value head of a member: in K, V, dK, dV.
inline Region key_rows(const Member& member, Index kv_head, Range keys, Index channels) {
  return {member.batch, kv_head, member.first_k + keys.first, keys.size(), 0, channels};
}

/// One row tile of one query head.
struct QueryTile {
  Member member;
  Index head;
  Range rows;
};

/// One key tile of one key/value head.
struct KeyTile {
  Member member;
  Index kv_head;
  Range keys;
};

/// One head of one member.
struct HeadOf {
  Member member;
  Index head;
};

/// A tile of one axis (queries or keys) of the bias, as its gradient is cut.
struct BiasAxisTile {
  static constexpr Index every_member = -1, no_member = -2;

  Range stored;    ///< where it lies along that axis of the bias
  Index member;    ///< whose tokens these are; slack tokens are no member's
  bool broadcast;  ///< one stored element for all tokens of all members

  bool serves(Index b) const { return member == every_member || member == b; }
  /// Tiles of a member's n tokens, the first of them stored at `first`, that it was added to.
  Range tiles(Index first, Index n, Index block) const {
    if (broadcast) return tiles_touching({0, n}, block);
    return {(stored.first - first) / block, (stored.first - first) / block + 1};
  }
};

/// One tile of the bias, and the batch entries and query heads that share it.
struct BiasTile {
  Range batches, heads;
  BiasAxisTile queries, keys;

  bool shared_by(const Member& m) const {
    return m.batch >= batches.first && m.batch < batches.last && queries.serves(m.index) &&
           keys.serves(m.index);
  }
  Region stored() const {
    return {batches.first,         heads.first,       queries.stored.first,
            queries.stored.size(), keys.stored.first, keys.stored.size()};
  }
};

std::vector<BiasTile> bias_tiles(const AttentionProblem& problem, const Blocks& blocks);

std::vector<QueryTile> query_tiles(const AttentionProblem& problem, Index block);
std::vector<KeyTile> key_tiles(const AttentionProblem& problem, Index block);
/// Numbers [first, last) of the key tiles of `block` keys that a row tile visits: those with a
/// visible pair.
inline Range key_tiles_of(const AttentionProblem& problem, const QueryTile& tile, Index block) {
  return tiles_touching(band_of(problem, tile.member).keys_seen_by(tile.rows), block);
}
/// And of the row tiles of `block` rows that visit the keys.
inline Range row_tiles_of(const AttentionProblem& problem, const Member& member, Range keys,
                          Index block) {
  return tiles_touching(band_of(problem, member).rows_that_see(keys), block);
}

/// Heads 0 … heads − 1 of every member: H_q or H_kv of them.
std::vector<HeadOf> heads_of(const AttentionProblem& problem, Index heads);

/// A kernel: task(sram, piece) for each piece of the work.
template <class Piece, class Task>
void launch_over(Machine& machine, const std::vector<Piece>& work, const Task& task) {
  machine.launch(static_cast<Index>(work.size()),
                 [&](Sram& sram, Index t) { task(sram, work[static_cast<std::size_t>(t)]); });
}

}  // namespace flashbook::io
