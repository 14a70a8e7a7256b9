#include "sim/io/fa2_forward.hpp"

#include "sim/io/forward_steps.hpp"

namespace flashbook::io {
namespace {

class Fa2Forward {
 public:
  Fa2Forward(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
             const RunOptions& options)
      : d_v_(problem->d_v),
        hbm_(bind_forward(hbm, problem, tensors)),
        steps_(problem, options, hbm_) {}

  // [row_tile]
  /// Algorithm 1 for one i: j runs over the tiles with a visible pair;
  /// O = diag(ℓ)⁻¹ O and LSE = m + ln ℓ go to HBM.
  void row_tile(Sram& sram, const QueryTile& tile) const {
    const auto& [member, h, rows] = tile;
    const float slope = steps_.load_slope(sram, member, h);
    const SoftmaxState first = steps_.load_first_state(sram, h);
    RowTile row = {tile, slope, steps_.load_queries(sram, tile),
                   steps_.start(sram, rows.size(), first)};
    steps_.take_in(sram, row, steps_.key_tiles_of(tile));
    RowState& state = row.state;
    state.divide_by_l(sram);
    sram.store(state.O, hbm_.o, query_rows(member, h, rows, d_v_));
    const Tile& lse = state.lse_in_place(sram);
    sram.store(lse, hbm_.lse, query_rows(member, h, rows, 1));
  }
  // [/row_tile]

 private:
  const Index d_v_;
  const Tensors hbm_;
  const ForwardSteps steps_;
};

}  // namespace

void fa2_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                 const RunOptions& options) {
  const Fa2Forward kernel(machine.hbm, problem, tensors, options);
  launch_over(machine, query_tiles(problem, options.blocks.rows),
              [&](Sram& sram, const QueryTile& tile) { kernel.row_tile(sram, tile); });
}

}  // namespace flashbook::io
