#include "sim/io/fused_backward.hpp"

#include "sim/io/backward_pass.hpp"

namespace flashbook::io {
namespace {

class FusedBackward : public BackwardPass {
 public:
  FusedBackward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
                const Blocks& blocks)
      : BackwardPass(hbm, problem, tensors, blocks, Delta::in_hbm),
        sum_(add_row_workspace(hbm, problem, "dQ_fp32", Kind::matrix, problem->d)) {}

  void run(Machine& machine, bool deterministic) const {
    const auto row_tiles = query_tiles(problem_, blocks_.rows);
    const auto main = [&](Sram& sram, const KeyTile& tile) { key_tile(sram, tile); };
    launch_delta(machine);
    launch_over(machine, row_tiles,
                [&](Sram& sram, const QueryTile& tile) { store_zeros(sram, sum_, region(tile)); });
    if (deterministic)
      launch_heads_of_keys(machine, main);
    else
      launch_over(machine, key_tiles(problem_, blocks_.columns), main);
    launch_over(machine, row_tiles,
                [&](Sram& sram, const QueryTile& tile) { convert(sram, tile); });
    launch_bias(machine);
  }

 private:
  // [key_tile]
  /// dK_j and dV_j; Σ_j dX_ij K_j grows by one term for every row tile that sees
  /// the keys.
  void key_tile(Sram& sram, const KeyTile& tile) const {
    stream_queries(sram, tile, [&](const QueryTile& rows, KeyPass& pass) {
      QuerySide queries = load_queries(sram, rows);
      const ScoreGradient visited = visit(sram, pass, rows, queries);
      Tile dQ = sram.allocate("dQ", rows.rows.size(), problem_->d);
      dQ.setZero();
      add_to_queries(sram, dQ, visited, pass.keys.K);
      sram.atomic_add(dQ, sum_, region(rows));
    });
  }
  // [/key_tile]

  /// dQ_i = scale · Σ_j dX_ij K_j.
  void convert(Sram& sram, const QueryTile& tile) const {
    Tile dQ = sram.load(sum_, region(tile));
    dQ *= static_cast<float>(problem_->scale);
    sram.show("dQ = scale · Σ dS K", dQ);
    sram.store(dQ, hbm_.grad_q, region(tile));
  }

  Region region(const QueryTile& tile) const {
    return query_rows(tile.member, tile.head, tile.rows, problem_->d);
  }

  const Tensor sum_;  ///< [B, H_q, N_q, d]
};

}  // namespace

void fused_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                    const RunOptions& options) {
  const FusedBackward pass(machine.hbm, problem, tensors, options.blocks);
  pass.run(machine, options.deterministic);
}

}  // namespace flashbook::io
