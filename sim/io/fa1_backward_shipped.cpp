#include "sim/io/fa1_backward_shipped.hpp"

#include "sim/io/backward_pass.hpp"
#include "sim/io/partial_dq.hpp"

namespace flashbook::io {
namespace {

class Fa1BackwardShipped : public BackwardPass {
 public:
  Fa1BackwardShipped(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
                     const Blocks& blocks)
      : BackwardPass(hbm, problem, tensors, blocks, Delta::in_hbm),
        dq_(problem, blocks, hbm_.grad_q,
            add_row_workspace(hbm, problem, "dQ_fp32", Kind::matrix, problem->d)) {}

  void run(Machine& machine) const {
    launch_sinks(machine);
    launch_over(machine, query_tiles(problem_, blocks_.rows),
                [&](Sram& sram, const QueryTile& tile) {
                  if (dq_.visits(tile).empty()) dq_.clear(sram, tile);
                });
    launch_heads_of_keys(machine, [&](Sram& sram, const KeyTile& tile) { key_tile(sram, tile); });
    launch_bias(machine);
  }

 private:
  void key_tile(Sram& sram, const KeyTile& tile) const {
    stream_queries(sram, tile, [&](const QueryTile& rows, KeyPass& pass) {
      const bool is_first = dq_.is_first(rows, tile.keys);
      QuerySide queries = is_first ? first_load(sram, rows) : load_queries(sram, rows);
      Tile dQ = is_first ? dq_.zeros(sram, rows) : dq_.load(sram, rows);
      const ScoreGradient visited = visit(sram, pass, rows, queries);
      add_to_queries(sram, dQ, visited, pass.keys.K);
      dq_.store(sram, dQ, rows, tile.keys);
    });
  }

  /// D from O, kept for the visits to come.
  QuerySide first_load(Sram& sram, const QueryTile& tile) const {
    QuerySide queries = load_queries_and_o(sram, tile);
    sram.store(queries.D, delta_, query_rows(tile.member, tile.head, tile.rows, 1));
    return queries;
  }

  const PartialDq dq_;
};

}  // namespace

void fa1_backward_shipped(Machine& machine, const AttentionProblem& problem,
                          const RunTensors& tensors, const RunOptions& options) {
  Fa1BackwardShipped(machine.hbm, problem, tensors, options.blocks).run(machine);
}

}  // namespace flashbook::io
