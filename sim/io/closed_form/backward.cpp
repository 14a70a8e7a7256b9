// Counts of the backward passes in blocks.
#include <algorithm>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/footprint.hpp"
#include "sim/io/closed_form/totals.hpp"

namespace flashbook::io {

namespace {

Index three_kernel_peak(const AttentionProblem& p, const Visits& v, const Blocks& blocks) {
  Index peak = bias_tile_bytes(p, blocks);
  for (const auto& [rows, keys] : v.row_tiles) {
    peak =
        std::max({peak, query_kernel_footprint(p, {rows, keys}), delta_kernel_footprint(p, rows)});
    if (p->has_bias && keys > 0) peak = std::max(peak, bias_kernel_footprint(p, {rows, keys}));
  }
  for (const auto& [keys, rows] : v.key_tiles)
    peak = std::max(peak, key_kernel_footprint(p, {rows, keys}));
  return peak;
}

}  // namespace

/// Δ: O and dO once. dK/dV: the keys once, the queries once a key tile. dQ: the queries once, the
/// keys once a row tile. dBias: both sides of every visited tile.
void count_three_kernels(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Index H = p->heads_q, H_kv = p->heads_kv;
  const Visits& v = n.visited;
  const Index bias = p->has_bias ? 1 : 0, sinks = p->has_sinks ? 1 : 0;
  const Index query_passes = n.n_q + (1 + bias) * v.rows;  // rows of Q, dO, LSE, D that are read
  const Index key_passes = H_kv * n.n_k + H * (1 + bias) * v.columns;
  TrafficTable t(p, report);
  t.matrix("Q", H * query_passes * p->d);
  t.matrix("K", key_passes * p->d);
  t.matrix("V", key_passes * p->d_v);
  if (bias) t.matrix("bias", 3 * H * bias_reads(p, v));
  if (p->alibi != FLASHBOOK_NO_ALIBI)
    t.vector("alibi", H * (n.key_tiles + n.row_tiles + bias * v.tiles));
  t.vector("sinks", sinks * H);
  t.matrix("O", H * n.n_q * p->d_v);
  t.fp32_vector("LSE", H * (query_passes + sinks * n.n_q));
  t.matrix("dO", H * (n.n_q + query_passes) * p->d_v);
  if (p->has_dlse) t.fp32_vector("dLSE", H * n.n_q);
  t.matrix("dQ", 0, H * n.n_q * p->d);
  t.matrix("dK", 0, H_kv * n.n_k * p->d);
  t.matrix("dV", 0, H_kv * n.n_k * p->d_v);
  if (bias) t.matrix("dbias", 0, p.bias_size());
  t.vector("dsinks", 0, sinks * H);
  t.fp32_vector("delta", H * query_passes, H * n.n_q);
  report.visited_tiles = H * (2 + bias) * v.tiles;
  report.flops_executed = 2 * H * v.pairs * (4 * p->d + 3 * p->d_v + bias * (p->d + p->d_v));
  report.peak_sram_bytes = three_kernel_peak(p, v, schedule.blocks);
}

}  // namespace flashbook::io
