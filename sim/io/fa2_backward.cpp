#include "sim/io/fa2_backward.hpp"

#include "sim/io/backward_pass.hpp"
#include "sim/io/partial_dq.hpp"

namespace flashbook::io {
namespace {

class Fa2Backward : public BackwardPass {
 public:
  Fa2Backward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
              const Blocks& blocks)
      : BackwardPass(hbm, problem, tensors, blocks, Delta::in_hbm),
        dq_(problem, blocks, hbm_.grad_q,
            add_row_workspace(hbm, problem, "dQ_fp32", Kind::matrix, problem->d)) {}

  void run(Machine& machine) const {
    launch_delta(machine);
    launch_over(machine, query_tiles(problem_, blocks_.rows),
                [&](Sram& sram, const QueryTile& tile) { dq_.clear(sram, tile); });
    launch_heads_of_keys(machine, [&](Sram& sram, const KeyTile& tile) { key_tile(sram, tile); });
    launch_bias(machine);
  }

 private:
  /// Algorithm 2 for one j: i runs over the tiles with a visible pair.
  void key_tile(Sram& sram, const KeyTile& tile) const {
    stream_queries(sram, tile, [&](const QueryTile& rows, KeyPass& pass) {
      QuerySide queries = load_queries(sram, rows);
      queries.O.emplace(
          sram.load(hbm_.o, query_rows(rows.member, rows.head, rows.rows, problem_->d_v)));
      Tile dQ = dq_.load(sram, rows);
      const ScoreGradient visited = visit(sram, pass, rows, queries);
      add_to_queries(sram, dQ, visited, pass.keys.K);
      dq_.store(sram, dQ, rows, tile.keys);
    });
  }

  const PartialDq dq_;
};

}  // namespace

void fa2_backward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                  const RunOptions& options) {
  Fa2Backward(machine.hbm, problem, tensors, options.blocks).run(machine);
}

}  // namespace flashbook::io
