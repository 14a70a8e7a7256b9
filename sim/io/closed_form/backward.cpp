// Counts of the backward passes in blocks.
#include <algorithm>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/footprint.hpp"
#include "sim/io/closed_form/totals.hpp"

namespace flashbook::io {

namespace {

/// What a backward pass moves, summed over its kernels.
struct Moved {
  // Rows of one query head, read unless it says otherwise.
  Index q, o, d_o, d_lse;
  Index lse, m_and_l;
  Index delta, delta_written;
  Index dq_written, sum, sum_written, sum_updated;  // dQ, and its sum in fp32
  // Rows of all key/value heads together.
  Index keys, grad_keys_written;
  // Of one query head: slopes, and tiles of S visited for gradients other than dBias.
  Index slopes, visits_of_a_tile;
};

/// N, R and C of a problem's query heads; 1 or 0 for what it has.
struct Sizes {
  explicit Sizes(const AttentionProblem& p, const Totals& n)
      : H(p->heads_q),
        H_kv(p->heads_kv),
        N(n.n_q),
        N_v(n.visited.rows_once),
        R(n.visited.rows),
        C(n.visited.columns),
        bias(p->has_bias ? 1 : 0),
        sinks(p->has_sinks ? 1 : 0) {}

  Index H, H_kv;
  Index N, N_v;  ///< query rows, and those that are visited at all
  Index R, C;
  Index bias, sinks;
};

void fill(const AttentionProblem& p, const Totals& n, const Moved& moved, Report& report) {
  const Sizes x(p, n);
  const Index visits = moved.visits_of_a_tile + x.bias;
  TrafficTable t(p, report);
  t.matrix("Q", x.H * moved.q * p->d);
  t.matrix("K", moved.keys * p->d);
  t.matrix("V", moved.keys * p->d_v);
  if (p->has_bias) t.matrix("bias", visits * x.H * bias_reads(p, n.visited));
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", x.H * moved.slopes);
  t.vector("sinks", x.sinks * x.H);
  t.matrix("O", x.H * moved.o * p->d_v);
  t.fp32_vector("LSE", x.H * moved.lse);
  t.matrix("dO", x.H * moved.d_o * p->d_v);
  if (p->has_dlse) t.fp32_vector("dLSE", x.H * moved.d_lse);
  t.matrix("dQ", 0, x.H * moved.dq_written * p->d);
  t.matrix("dK", 0, moved.grad_keys_written * p->d);
  t.matrix("dV", 0, moved.grad_keys_written * p->d_v);
  t.matrix("dbias", 0, p.bias_size());
  t.vector("dsinks", 0, x.sinks * x.H);
  t.fp32_vector("delta", x.H * moved.delta, x.H * moved.delta_written);
  t.fp32_vector("m", x.H * moved.m_and_l);
  t.fp32_vector("l", x.H * moved.m_and_l);
  t.fp32_matrix("dQ_fp32", x.H * moved.sum * p->d, x.H * moved.sum_written * p->d,
                x.H * moved.sum_updated * p->d);
  report.visited_tiles = x.H * visits * n.visited.tiles;
  // S and dP at every visit; dV, dK and dQ once a tile.
  report.flops_executed =
      2 * x.H * n.visited.pairs * (visits * (p->d + p->d_v) + 2 * p->d + p->d_v);
}

/// What the passes with keys outside and queries inside have in common: a visit reads Q, dO and
/// the LSE, and K and V are read once. The kernel of dBias visits all tiles once more.
Moved keys_outside(const Sizes& x, const Totals& n) {
  const Index visited = (1 + x.bias) * x.R;
  Moved moved = {};
  moved.visits_of_a_tile = 1;
  moved.q = moved.d_o = moved.lse = visited;
  moved.keys = x.H_kv * n.n_k + x.bias * x.H * x.C;
  moved.grad_keys_written = x.H_kv * n.n_k;
  moved.slopes = n.key_tiles + x.bias * n.visited.tiles;
  return moved;
}

/// The Δ kernel reads O, dO and dLSE once, and D is read at every visit.
void add_delta_kernel(const Sizes& x, Moved& moved) {
  moved.delta = moved.lse;
  moved.delta_written = x.N;
  moved.o += x.N;
  moved.d_o += x.N;
  moved.d_lse += x.N;
  moved.lse += x.sinks * x.N;
}

/// dSinks where there is no Δ kernel.
void add_sink_kernel(const Sizes& x, Moved& moved) {
  for (Index* rows : {&moved.o, &moved.d_o, &moved.d_lse, &moved.lse}) *rows += x.sinks * x.N;
}

/// Most bytes a worker holds: of visit(tile) and bias_kernel(tile) over the visited tiles, and of
/// row_kernel(tile) over all row tiles, whose 0 keys say that no key tile visits them.
template <class Visit, class BiasKernel, class RowKernel>
Index peak_of(const AttentionProblem& p, const Visits& v, const Blocks& blocks, const Visit& visit,
              const BiasKernel& bias_kernel, const RowKernel& row_kernel) {
  Index peak = bias_tile_bytes(p, blocks);
  for (const auto& [rows, keys] : v.row_tiles) {
    peak = std::max(peak, row_kernel(Blocks{rows, keys}));
    if (p->has_bias && keys > 0) peak = std::max(peak, bias_kernel(p, Blocks{rows, keys}));
  }
  for (const auto& [keys, rows] : v.key_tiles) peak = std::max(peak, visit(p, Blocks{rows, keys}));
  return peak;
}

}  // namespace

/// O, and of vectors dLSE, ℓ and m, at every visit; dQ read and written at every visit, the last
/// of them to dQ itself.
void count_fa1_backward(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Sizes x(p, n);
  const Index init = schedule.includes_init ? 1 : 0;
  Moved moved = keys_outside(x, n);
  moved.o = moved.d_lse = moved.q;
  add_sink_kernel(x, moved);
  std::swap(moved.lse, moved.m_and_l);
  moved.sum = x.R;
  moved.sum_written = x.R - x.N_v + init * x.N_v;
  moved.dq_written = x.N_v + init * (x.N - x.N_v);
  moved.grad_keys_written *= 1 + init;
  fill(p, n, moved, report);
  report.peak_sram_bytes =
      peak_of(p, n.visited, schedule.blocks, held_visit_footprint, bias_kernel_with_o_footprint,
              [&](const Blocks& tile) {
                const Index m_l_D = 3 * 4 * tile.rows;
                const Index sinks =
                    p->has_sinks ? std::max(delta_kernel_footprint(p, tile.rows), m_l_D) : 0;
                return std::max(sinks, init * dq_footprint(p, tile.rows));
              });
}

/// O and dLSE at the first visit, D and dQ at the others; zeros to dQ where there is no visit.
void count_fa1_backward_shipped(const AttentionProblem& p, const Schedule& schedule,
                                Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Sizes x(p, n);
  Moved moved = keys_outside(x, n);
  moved.o = moved.d_lse = moved.delta_written = x.N_v;
  moved.delta = moved.lse - x.N_v;
  add_sink_kernel(x, moved);
  moved.sum = moved.sum_written = x.R - x.N_v;
  moved.dq_written = x.N;
  fill(p, n, moved, report);
  report.peak_sram_bytes =
      peak_of(p, n.visited, schedule.blocks, held_visit_footprint, bias_kernel_footprint,
              [&](const Blocks& tile) {
                return std::max(p->has_sinks ? delta_kernel_footprint(p, tile.rows) : 0,
                                tile.columns == 0 ? dq_footprint(p, tile.rows) : 0);
              });
}

/// O at every visit, without need; dQ cleared, then read and written at every visit.
void count_fa2_backward(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Sizes x(p, n);
  Moved moved = keys_outside(x, n);
  add_delta_kernel(x, moved);
  moved.o += x.R;
  moved.sum = moved.sum_written = x.R;
  moved.dq_written = x.N;
  fill(p, n, moved, report);
  report.peak_sram_bytes =
      peak_of(p, n.visited, schedule.blocks, held_visit_footprint, bias_kernel_footprint,
              [&](const Blocks& tile) {
                return std::max(delta_kernel_footprint(p, tile.rows), dq_footprint(p, tile.rows));
              });
}

/// dQ's sum cleared, updated at every visit and read once.
void count_fused_backward(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Sizes x(p, n);
  Moved moved = keys_outside(x, n);
  add_delta_kernel(x, moved);
  moved.sum = moved.sum_written = moved.dq_written = x.N;
  moved.sum_updated = x.R;
  fill(p, n, moved, report);
  report.peak_sram_bytes =
      peak_of(p, n.visited, schedule.blocks, fused_visit_footprint, bias_kernel_footprint,
              [&](const Blocks& tile) {
                return std::max(delta_kernel_footprint(p, tile.rows), dq_footprint(p, tile.rows));
              });
}

/// dK/dV: the queries once a key tile. dQ: the queries once more, the keys once a row tile.
void count_three_kernels(const AttentionProblem& p, const Schedule& schedule, Report& report) {
  const Totals n = totals_of(p, schedule.blocks);
  const Sizes x(p, n);
  Moved moved = keys_outside(x, n);
  moved.q += x.N;
  moved.d_o += x.N;
  moved.lse += x.N;
  moved.keys += x.H * x.C;
  moved.slopes += n.row_tiles;
  moved.visits_of_a_tile = 2;
  add_delta_kernel(x, moved);
  moved.dq_written = x.N;
  fill(p, n, moved, report);
  report.peak_sram_bytes = peak_of(p, n.visited, schedule.blocks, key_kernel_footprint,
                                   bias_kernel_footprint, [&](const Blocks& tile) {
                                     return std::max(delta_kernel_footprint(p, tile.rows),
                                                     query_kernel_footprint(p, tile));
                                   });
}

}  // namespace flashbook::io
