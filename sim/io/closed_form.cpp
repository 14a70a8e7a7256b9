#include "sim/io/closed_form.hpp"

#include <algorithm>

#include "sim/io/footprint.hpp"
#include "sim/io/standard.hpp"
#include "sim/io/visits.hpp"

namespace flashbook::io {
namespace {

/// Sums over all members, each of which every query head sees alike.
struct Totals {
  Index n_q = 0, n_k = 0, pairs = 0;   ///< Σ N_q, Σ N_k, Σ N_q N_k
  Index row_tiles = 0, key_tiles = 0;  ///< Σ T_r, Σ T_c
  Visits visited;                      ///< Σ R, C, V; shapes of all members
  Index members = 0;
};

void add(Totals& sum, const Member& m, const Visits& v, const Blocks& blocks, Index times) {
  sum.members += times;
  sum.n_q += times * m.n_q;
  sum.n_k += times * m.n_k;
  sum.pairs += times * m.n_q * m.n_k;
  sum.row_tiles += times * ceil_div(m.n_q, blocks.rows);
  sum.key_tiles += times * ceil_div(m.n_k, blocks.columns);
  sum.visited.rows += times * v.rows;
  sum.visited.columns += times * v.columns;
  sum.visited.tiles += times * v.tiles;
  sum.visited.pairs += times * v.pairs;
  sum.visited.row_tiles.insert(v.row_tiles.begin(), v.row_tiles.end());
  sum.visited.key_tiles.insert(v.key_tiles.begin(), v.key_tiles.end());
}

Totals totals_of(const AttentionProblem& problem, const Blocks& blocks) {
  Totals sum;
  if (!problem->packed && problem->members > 0) {
    const Member m = problem.member(0);  // all are alike
    add(sum, m, visits_of(problem, m, blocks), blocks, problem->members);
    return sum;
  }
  for (Index b = 0; b < problem->members; ++b) {
    const Member m = problem.member(b);
    add(sum, m, visits_of(problem, m, blocks), blocks, 1);
  }
  return sum;
}

/// Σ over visited tiles of the bias elements that each needs.
Index bias_reads(const AttentionProblem& problem, const Visits& v) {
  const bool per_query = problem->bias_shape[2] != 1, per_key = problem->bias_shape[3] != 1;
  if (per_query && per_key) return v.pairs;
  return per_query ? v.rows : per_key ? v.columns : v.tiles;
}

/// Collects the tensors that anything is counted for.
class Table {
 public:
  Table(const AttentionProblem& problem, Report& report)
      : bytes_(bytes_of(problem.dtype())), report_(report) {}

  void matrix(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::matrix, bytes_, reads, writes);
  }
  /// In the problem's dtype.
  void vector(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::vector, bytes_, reads, writes);
  }
  void fp32_vector(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::vector, 4, reads, writes);
  }

 private:
  void add(const char* name, Kind kind, Index bytes, Index reads, Index writes) {
    if (reads != 0 || writes != 0)
      report_.tensors.push_back({name, kind, bytes, {reads, writes, 0}});
  }

  Index bytes_;
  Report& report_;
};

}  // namespace

/// Q, O, LSE once; K and V once a row tile.
void count_fa2_forward(const AttentionProblem& p, const Blocks& blocks, Report& report) {
  const Totals n = totals_of(p, blocks);
  const Index H = p->heads_q;
  const Visits& v = n.visited;
  Table t(p, report);
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

/// Longest tile of an axis of the bias: tiles stay within a member, or within the slack.
Index longest_bias_tile(const AttentionProblem& p, bool queries, Index block) {
  if (p->bias_shape[queries ? 2 : 3] == 1) return 1;
  const Index tokens = queries ? p->n_q : p->n_k;
  if (!p->packed) return std::min(block, tokens);
  Index longest = tokens - (queries ? p.first_slack_q() : p.first_slack_k());
  for (Index b = 0; b < p->members; ++b)
    longest = std::max(longest, queries ? p.member(b).n_q : p.member(b).n_k);
  return std::min(block, longest);
}

Index cleared_bias_tile_bytes(const AttentionProblem& p, const Blocks& blocks) {
  if (p.bias_size() == 0) return 0;
  return 4 * longest_bias_tile(p, true, blocks.rows) * longest_bias_tile(p, false, blocks.columns);
}

Index three_kernel_peak(const AttentionProblem& p, const Visits& v, const Blocks& blocks) {
  Index peak = cleared_bias_tile_bytes(p, blocks);
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
void count_three_kernels(const AttentionProblem& p, const Blocks& blocks, Report& report) {
  const Totals n = totals_of(p, blocks);
  const Index H = p->heads_q, H_kv = p->heads_kv;
  const Visits& v = n.visited;
  const Index bias = p->has_bias ? 1 : 0, sinks = p->has_sinks ? 1 : 0;
  const Index query_passes = n.n_q + (1 + bias) * v.rows;  // rows of Q, dO, LSE, D that are read
  const Index key_passes = H_kv * n.n_k + H * (1 + bias) * v.columns;
  Table t(p, report);
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
  report.peak_sram_bytes = three_kernel_peak(p, v, blocks);
}

namespace {

/// Standard attention visits no tiles: for totals that blocks have no part in.
constexpr Blocks whole = {Index{1} << 40, Index{1} << 40};

/// One strip of rows at a time beside a whole operand.
Index standard_forward_peak(const AttentionProblem& p, Index n_q, Index n_k) {
  const Index e = bytes_of(p.dtype()), rows = std::min(standard_rows, n_q);
  Index bias = 0;
  if (p->has_bias && rows > 0)
    bias = e * (p->bias_shape[2] == 1 ? 1 : rows) * (p->bias_shape[3] == 1 ? 1 : n_k);
  const Index scores = e * (n_k + rows) * p->d + 4 * rows * n_k + bias;
  const Index softmax = e * rows * n_k + 4 * rows;
  const Index values = e * (n_k * p->d_v + rows * n_k) + 4 * rows * p->d_v;
  return std::max({scores, softmax, values});
}

void count_standard(const AttentionProblem& p, bool writes_lse, Report& report) {
  const Totals n = totals_of(p, whole);
  const Index H = p->heads_q;
  Index bias = 0;
  for (Index b = 0; b < p->members; ++b) {
    const Member m = p.member(b);
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, standard_forward_peak(p, m.n_q, m.n_k));
    bias += (p->bias_shape[2] == 1 ? ceil_div(m.n_q, standard_rows) : m.n_q) *
            (p->bias_shape[3] == 1 ? 1 : m.n_k);
  }
  Table t(p, report);
  t.matrix("Q", H * n.n_q * p->d);
  t.matrix("K", H * n.n_k * p->d);
  t.matrix("V", H * n.n_k * p->d_v);
  if (p->has_bias) t.matrix("bias", H * bias);
  if (p->alibi != FLASHBOOK_NO_ALIBI) t.vector("alibi", H * n.members);
  if (p->has_sinks) t.vector("sinks", H * n.members);
  t.matrix("O", 0, H * n.n_q * p->d_v);
  if (writes_lse) t.fp32_vector("LSE", 0, H * n.n_q);
  t.matrix("S", H * n.pairs, H * n.pairs);
  t.matrix("P", H * n.pairs, H * n.pairs);
  report.flops_executed = 2 * H * n.pairs * (p->d + p->d_v);
}

}  // namespace

void count_standard_forward(const AttentionProblem& p, const Blocks&, Report& report) {
  count_standard(p, false, report);
}

void count_standard_forward_lse(const AttentionProblem& p, const Blocks&, Report& report) {
  count_standard(p, true, report);
}

namespace {

Index standard_backward_peak(const AttentionProblem& p, Index n_q, Index n_k) {
  const Index e = bytes_of(p.dtype()), rows = std::min(standard_rows, n_q);
  const Index strip = e * rows * n_k;  // of P, dP, dS or H
  const Index slope = p->softcap > 0 ? strip : 0;
  const Index vectors = 4 * rows * (p->has_dlse || p->has_sinks ? 2 : 1);
  const Index dV = 4 * n_k * p->d_v + strip + e * rows * p->d_v;
  const Index dP = e * (n_k + rows) * p->d_v + 4 * rows * n_k;
  const Index dS = 2 * strip + vectors;
  const Index dQ = e * n_k * p->d + strip + std::max(slope, 4 * rows * p->d);
  const Index dK = 4 * n_k * p->d + strip + std::max(slope, e * rows * p->d);
  Index dbias = 0;
  if (p->has_bias && rows > 0 && n_k > 0)
    dbias = 4 * (p->bias_shape[2] == 1 ? 1 : rows) * (p->bias_shape[3] == 1 ? 1 : n_k) + strip;
  return std::max({dV, dP, dS, dQ, dK, dbias});
}

}  // namespace

void count_standard_backward(const AttentionProblem& p, const Blocks&, Report& report) {
  const Totals n = totals_of(p, whole);
  const Index H = p->heads_q, H_kv = p->heads_kv, sinks = p->has_sinks ? 1 : 0;
  report.peak_sram_bytes = cleared_bias_tile_bytes(p, {standard_rows, std::max<Index>(p->n_k, 1)});
  for (Index b = 0; b < p->members; ++b) {
    const Member m = p.member(b);
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, standard_backward_peak(p, m.n_q, m.n_k));
  }
  Table t(p, report);
  t.matrix("Q", H * n.n_q * p->d);
  t.matrix("K", H * n.n_k * p->d);
  t.matrix("V", H * n.n_k * p->d_v);
  t.vector("sinks", sinks * H);
  t.fp32_vector("LSE", sinks * H * n.n_q);
  t.matrix("dO", 2 * H * n.n_q * p->d_v);
  if (p->has_dlse) t.fp32_vector("dLSE", H * n.n_q);
  t.matrix("dQ", 0, H * n.n_q * p->d);
  t.matrix("dK", 0, H_kv * n.n_k * p->d);
  t.matrix("dV", 0, H_kv * n.n_k * p->d_v);
  if (p->has_bias) t.matrix("dbias", 0, p.bias_size());
  t.vector("dsinks", 0, sinks * H);
  t.matrix("P", 2 * H * n.pairs);
  if (p->softcap > 0) t.matrix("H", 2 * H * n.pairs);
  t.matrix("dP", H * n.pairs, H * n.pairs);
  t.matrix("dS", (p->has_bias ? 3 : 2) * H * n.pairs, H * n.pairs);
  report.flops_executed = 2 * H * n.pairs * (2 * p->d + 2 * p->d_v);
}

Index nominal_flops(const Algorithm& algorithm, const AttentionProblem& problem) {
  Index pairs = 0;
  for (Index b = 0; b < problem->members; ++b)
    pairs += problem.member(b).n_q * problem.member(b).n_k;
  const Index d = problem->d, d_v = problem->d_v;
  const Index multiply_adds =
      problem->heads_q * pairs * (algorithm.backward ? 3 * d + 2 * d_v : d + d_v);
  return problem->causal ? multiply_adds : 2 * multiply_adds;
}

Report closed_form(const Algorithm& algorithm, const AttentionProblem& problem,
                   const Blocks& blocks) {
  check_runs(algorithm, problem, blocks);
  Report report;
  report.algorithm = algorithm.name;
  report.query_heads = problem->batch * problem->heads_q;
  report.flops_nominal = nominal_flops(algorithm, problem);
  algorithm.count(problem, clamped(blocks, problem), report);
  return report;
}

}  // namespace flashbook::io
