#include "sim/io/split_kv_decode.hpp"

#include "sim/io/forward_steps.hpp"

namespace flashbook::io {
namespace {

/// One run of the keys of one row tile.
struct Run {
  QueryTile tile;
  Index split;
};

std::vector<Run> runs_of(const std::vector<QueryTile>& tiles, Index splits) {
  std::vector<Run> runs;
  for (const QueryTile& tile : tiles)
    for (Index s = 0; s < splits; ++s) runs.push_back({tile, s});
  return runs;
}

class SplitKvDecode {
 public:
  SplitKvDecode(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
                const RunOptions& options)
      : batch_(problem->batch),
        d_v_(problem->d_v),
        splits_(options.splits),
        hbm_(bind_forward(hbm, problem, tensors)),
        O_partial_(add_row_workspace(hbm, problem, "O_partial", Kind::matrix, d_v_, splits_)),
        lse_partial_(add_row_workspace(hbm, problem, "LSE_partial", Kind::vector, 1, splits_)),
        steps_(problem, options, hbm_) {}

  /// O and LSE of the rows over the run's keys alone.
  void attend(Sram& sram, const Run& run) const {
    const auto& [member, h, rows] = run.tile;
    const float slope = steps_.load_slope(sram, member, h);
    RowTile row = {run.tile, slope, steps_.load_queries(sram, run.tile),
                   steps_.start(sram, rows.size(), {})};
    const auto [first, last] = steps_.key_tiles_of(run.tile);
    const Index T = last - first, s = run.split;
    steps_.take_in(sram, row, Range{first + s * T / splits_, first + (s + 1) * T / splits_});
    row.state.divide_by_l(sram);
    sram.store(row.state.O, O_partial_, partial(run.tile, s, d_v_));
    sram.store(row.state.lse_in_place(sram), lse_partial_, partial(run.tile, s, 1));
  }

  /// O = Σ_s e^(LSE_s − LSE) O_s,  LSE = ln(e^sink + Σ_s e^(LSE_s)): merged run by run.
  void combine(Sram& sram, const QueryTile& tile) const {
    const auto& [member, h, rows] = tile;
    RowState state = steps_.start(sram, rows.size(), steps_.load_first_state(sram, h));
    auto& [O, m, l] = state;
    for (Index s = 0; s < splits_; ++s) {
      const Tile O_s = sram.load(O_partial_, partial(tile, s, d_v_));
      const Tile lse_s = sram.load(lse_partial_, partial(tile, s, 1));
      sram.show("O_s", O_s);
      sram.show("LSE_s", lse_s);
      for (Index i = 0; i < rows.size(); ++i) {
        const Merged merged = merge({m(i), l(i)}, state_of_part(lse_s(i)));
        O.row(i) = merged.weight_a * O.row(i) + merged.weight_b * O_s.row(i);
        m(i) = merged.state.m;
        l(i) = merged.state.l;
      }
    }
    sram.show("m = max_s LSE_s", m);
    sram.show("ℓ = Σ_s exp(LSE_s − m)", l);
    sram.show("O = Σ_s exp(LSE_s − m) O_s", O);
    state.divide_by_l(sram);
    sram.store(O, hbm_.o, query_rows(member, h, rows, d_v_));
    sram.store(state.lse_in_place(sram), hbm_.lse, query_rows(member, h, rows, 1));
  }

 private:
  /// Rows of O_s or LSE_s, [S·B, H_q, N_q, channels].
  Region partial(const QueryTile& tile, Index split, Index channels) const {
    Region region = query_rows(tile.member, tile.head, tile.rows, channels);
    region.batch += split * batch_;
    return region;
  }

  const Index batch_, d_v_, splits_;
  const Tensors hbm_;
  const Tensor O_partial_, lse_partial_;
  const ForwardSteps steps_;
};

}  // namespace

void split_kv_decode(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                     const RunOptions& options) {
  const SplitKvDecode kernel(machine.hbm, problem, tensors, options);
  const std::vector<QueryTile> tiles = query_tiles(problem, options.blocks.rows);
  launch_over(machine, runs_of(tiles, options.splits),
              [&](Sram& sram, const Run& run) { kernel.attend(sram, run); });
  launch_over(machine, tiles,
              [&](Sram& sram, const QueryTile& tile) { kernel.combine(sram, tile); });
}

}  // namespace flashbook::io
