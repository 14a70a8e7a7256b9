#include "sim/io/fa1_backward.hpp"

#include "sim/io/backward_pass.hpp"
#include "sim/io/online_softmax.hpp"
#include "sim/io/partial_dq.hpp"

namespace flashbook::io {
namespace {

class Fa1Backward : public BackwardPass {
 public:
  Fa1Backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
              const Blocks& blocks)
      : BackwardPass(hbm, problem, tensors, blocks, Delta::on_chip),
        m_(add_row_workspace(hbm, problem, "m", Kind::vector, 1)),
        l_(add_row_workspace(hbm, problem, "l", Kind::vector, 1)),
        dq_(problem, blocks, hbm_.grad_q,
            add_row_workspace(hbm, problem, "dQ_fp32", Kind::matrix, problem->d)) {}

  void run(Machine& machine, bool includes_init) const {
    const auto row_tiles = query_tiles(problem_, blocks_.rows);
    launch_over(machine, row_tiles, [&](Sram& sram, const QueryTile& tile) { save(sram, tile); });
    machine.forget();  // a forward pass wrote ℓ and m: not counted
    launch_over(machine, row_tiles,
                [&](Sram& sram, const QueryTile& tile) { dq_.clear(sram, tile); });
    launch_over(machine, key_tiles(problem_, blocks_.columns),
                [&](Sram& sram, const KeyTile& tile) { clear(sram, tile); });
    if (!includes_init) machine.forget();

    launch_sinks(machine);
    launch_heads_of_keys(machine, [&](Sram& sram, const KeyTile& tile) { key_tile(sram, tile); });
    launch_bias(machine);
  }

 private:
  /// Algorithm 4 for one j: i runs over the tiles with a visible pair.
  void key_tile(Sram& sram, const KeyTile& tile) const {
    stream_queries(sram, tile, [&](const QueryTile& rows, KeyPass& pass) {
      QuerySide queries = load_queries(sram, rows);
      Tile dQ = dq_.load(sram, rows);
      const ScoreGradient visited = visit(sram, pass, rows, queries);
      add_to_queries(sram, dQ, visited, pass.keys.K);
      dq_.store(sram, dQ, rows, tile.keys);
    });
  }

  /// LSE = m + ln ℓ, of what the forward pass left.
  Tile load_lse(Sram& sram, const QueryTile& tile) const override {
    const Region vector = query_rows(tile.member, tile.head, tile.rows, 1);
    Tile m = sram.load(m_, vector);
    const Tile l = sram.load(l_, vector);
    to_lse(m, l);
    return m;
  }

  /// m = LSE and ℓ = 1, or 0 for an empty row.
  void save(Sram& sram, const QueryTile& tile) const {
    const Region vector = query_rows(tile.member, tile.head, tile.rows, 1);
    const Tile m = sram.load(hbm_.lse, vector);
    Tile l = sram.allocate("l", m.rows(), 1);
    for (Index i = 0; i < m.rows(); ++i) l(i) = state_of_part(m(i)).l;
    sram.store(m, m_, vector);
    sram.store(l, l_, vector);
  }

  /// dK_j = 0, dV_j = 0.
  void clear(Sram& sram, const KeyTile& tile) const {
    const auto& [member, kv_head, keys] = tile;
    store_zeros(sram, hbm_.grad_k, key_rows(member, kv_head, keys, problem_->d));
    store_zeros(sram, hbm_.grad_v, key_rows(member, kv_head, keys, problem_->d_v));
  }

  const Tensor m_, l_;  ///< [B, H_q, N_q]
  const PartialDq dq_;
};

}  // namespace

void fa1_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                  const RunOptions& options) {
  const Fa1Backward pass(machine.hbm, problem, tensors, options.blocks);
  pass.run(machine, options.includes_init);
}

}  // namespace flashbook::io
