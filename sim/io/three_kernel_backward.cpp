#include "sim/io/three_kernel_backward.hpp"

#include "sim/io/backward_pass.hpp"

namespace flashbook::io {
namespace {

class ThreeKernels : public BackwardPass {
 public:
  ThreeKernels(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
               const Blocks& blocks)
      : BackwardPass(hbm, problem, tensors, blocks, Delta::in_hbm) {}

  void run(Machine& machine) const {
    launch_delta(machine);
    launch_over(machine, key_tiles(problem_, blocks_.columns),
                [&](Sram& sram, const KeyTile& tile) { key_kernel(sram, tile); });
    launch_over(machine, query_tiles(problem_, blocks_.rows),
                [&](Sram& sram, const QueryTile& tile) { query_kernel(sram, tile); });
    launch_bias(machine);
  }

 private:
  /// dK_j = scale · Σ_i dX_ijᵀ Q_i and dV_j = Σ_i P_ijᵀ dO_i.
  void key_kernel(Sram& sram, const KeyTile& tile) const {
    stream_queries(sram, tile, [&](const QueryTile& rows, KeyPass& pass) {
      QuerySide queries = load_queries(sram, rows);
      visit(sram, pass, rows, queries);
    });
  }

  /// dQ_i = scale · Σ_j dX_ij K_j.
  void query_kernel(Sram& sram, const QueryTile& tile) const;
};

// [query_kernel]
void ThreeKernels::query_kernel(Sram& sram, const QueryTile& tile) const {
  const auto& [member, h, rows] = tile;
  const float slope = scores_.load_slope(sram, member, h);
  const QuerySide queries = load_queries(sram, tile);
  Tile dQ = sram.allocate("dQ", rows.size(), problem_->d);
  dQ.setZero();

  const Range visited = key_tiles_of(problem_, tile, blocks_.columns);
  for (Index j = visited.first; j < visited.last; ++j) {
    const Range keys = tile_of(j, blocks_.columns, member.n_k);
    KeySide key_side = load_keys(sram, {member, problem_.kv_head(h), keys});
    const ScoreTile at = {member, h, rows, keys};
    ScoreGradient scores = recompute(sram, at, slope, queries.Q, key_side.K);
    if (scores.hides_pairs) scores.silenced.emplace(scores.S, key_side.K);
    differentiate(sram, scores, queries, key_side);
    to_operand(scores);
    add_to_queries(sram, dQ, scores, key_side.K);
    sram.end_step();
  }
  dQ *= static_cast<float>(problem_->scale);
  sram.show("dQ = scale · Σ dS K", dQ);
  sram.store(dQ, hbm_.grad_q, query_rows(member, h, rows, problem_->d));
}
// [/query_kernel]

}  // namespace

void three_kernel_backward(Machine& machine, const AttentionProblem& problem,
                           const RunTensors& tensors, const RunOptions& options) {
  ThreeKernels(machine.hbm, problem, tensors, options.blocks).run(machine);
}

}  // namespace flashbook::io
