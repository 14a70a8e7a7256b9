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

namespace {

/// What FA1's two loop orders have in common: K and V once a query head, Q once a visited tile.
void count_fa1_inputs(const AttentionProblem& p, const Totals& n, Report& report) {
  const Index H = p->heads_q;
  const Visits& v = n.visited;
  TrafficTable t(p, report);
  t.matrix("Q", H * v.rows * p->d);
  t.matrix("K", H * n.n_k * p->d);
  t.matrix("V", H * n.n_k * p->d_v);
  if (p->has_bias) t.matrix("bias", H * bias_reads(p, v));
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", H * n.members);
  report.visited_tiles = H * v.tiles;
  report.flops_executed = 2 * H * v.pairs * (p->d + p->d_v);
  for (const auto& [keys, rows] : v.key_tiles)
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, fa1_forward_footprint(p, {rows, keys}));
}

/// O and the state (ℓ, m) in and out once a visited tile: of O, the last visit's goes to its place
/// and the others' to the workspace. The initialisation is one more write of everything.
void count_fa1_literal(const AttentionProblem& p, const Schedule& schedule, bool writes_lse,
                       Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Index H = p->heads_q, R = n.visited.rows, seeing = n.visited.rows_once;
  const Index init = schedule.includes_init ? 1 : 0, blind = init * (n.n_q - seeing);
  count_fa1_inputs(p, n, report);
  TrafficTable t(p, report);
  if (p->has_sinks) t.vector("sinks", init * H * n.row_tiles);
  t.matrix("O", 0, H * (seeing + blind) * p->d_v);
  if (writes_lse) t.fp32_vector("LSE", 0, H * (seeing + blind));
  t.fp32_matrix("O_partial", H * R * p->d_v, H * (R - seeing + init * seeing) * p->d_v);
  for (const char* state : {"m", "l"}) t.fp32_vector(state, H * R, H * (R + init * n.n_q));
  if (!schedule.includes_init) return;
  for (const auto& [rows, keys] : n.visited.row_tiles)
    report.peak_sram_bytes = std::max(report.peak_sram_bytes, 4 * rows * (p->d_v + 2));
}

}  // namespace

void count_fa1_forward(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  count_fa1_literal(p, schedule, false, report);
}

void count_fa1_forward_lse(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  count_fa1_literal(p, schedule, true, report);
}

/// O and the LSE in once a visited tile but the first of a row tile, and out once a visited tile; a
/// row tile that visits none is written once.
void count_fa1_forward_shipped(const AttentionProblem& p, const Schedule& schedule,
                               Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Index H = p->heads_q, R = n.visited.rows, seeing = n.visited.rows_once;
  const Index blind = n.n_q - seeing;
  count_fa1_inputs(p, n, report);
  TrafficTable t(p, report);
  if (p->has_sinks) t.vector("sinks", H * n.row_tiles);
  t.matrix("O", 0, H * n.n_q * p->d_v);
  t.fp32_vector("LSE", H * (R - seeing), H * (R + blind));
  t.fp32_matrix("O_partial", H * (R - seeing) * p->d_v, H * (R - seeing) * p->d_v);
  for (const auto& [rows, keys] : n.visited.row_tiles)
    if (keys == 0)
      report.peak_sram_bytes = std::max(report.peak_sram_bytes, 4 * rows * (p->d_v + 2));
}

/// A run of keys is FA2's pass over it: Q once a run, K and V once a row tile in all. Each run
/// writes its O and LSE in fp32, and the combine kernel reads them: with S runs, SNd + 2dC elements
/// a head and then S(Nd + N) are read, and S(Nd + N) and then Nd + N written.
void count_split_kv_decode(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Index H = p->heads_q, S = schedule.splits;
  const Visits& v = n.visited;
  const Index partials = S * H * n.n_q;  // rows of O and LSE
  TrafficTable t(p, report);
  t.matrix("Q", partials * p->d);
  t.matrix("K", H * v.columns * p->d);
  t.matrix("V", H * v.columns * p->d_v);
  if (p->has_bias) t.matrix("bias", H * bias_reads(p, v));
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", S * H * n.row_tiles);
  if (p->has_sinks) t.vector("sinks", H * n.row_tiles);
  t.matrix("O", 0, H * n.n_q * p->d_v);
  t.fp32_vector("LSE", 0, H * n.n_q);
  t.fp32_matrix("O_partial", partials * p->d_v, partials * p->d_v);
  t.fp32_vector("LSE_partial", partials, partials);
  report.visited_tiles = H * v.tiles;
  report.flops_executed = 2 * H * v.pairs * (p->d + p->d_v);
  for (const auto& [rows, keys] : v.row_tiles)
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, split_kv_decode_footprint(p, {rows, keys}));
}

}  // namespace flashbook::io
