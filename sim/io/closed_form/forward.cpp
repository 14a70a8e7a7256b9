// Counts of the forward passes in blocks.
#include <algorithm>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/footprint.hpp"
#include "sim/io/closed_form/totals.hpp"

namespace flashbook::io {

/// Q, O, LSE once; K and V once a row tile.
void count_fa2_forward(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Index H = p->heads_q;
  const Visits& v = n.visited;
  TrafficTable t(p, report);
  t.matrix("Q", H * n.n_q * p->d);
  t.matrix("K", H * v.columns * p->d);
  t.matrix("V", H * v.columns * p->d_v);
  if (p->has_bias) t.matrix("bias", H * bias_reads(p, v));
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", H * n.row_tiles);
  if (p->has_sinks) t.vector("sinks", H * n.row_tiles);
  t.matrix("O", 0, H * n.n_q * p->d_v);
  t.fp32_vector("LSE", 0, H * n.n_q);
  report.visited_tiles = H * v.tiles;
  report.flops_executed = 2 * H * v.pairs * (p->d + p->d_v);
  for (const auto& [rows, keys] : v.row_tiles)
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, fa2_forward_footprint(p, {rows, keys}));
}

}  // namespace flashbook::io
