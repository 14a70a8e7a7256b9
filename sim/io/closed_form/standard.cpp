// Counts of standard attention.
#include <algorithm>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/totals.hpp"
#include "sim/io/standard.hpp"

namespace flashbook::io {

namespace {

/// Standard attention visits no tiles: for totals that blocks have no part in.
constexpr Blocks whole = {Index{1} << 40, Index{1} << 40};

/// One strip of rows at a time beside a whole operand. The softmax has no operand: it holds less.
Index standard_forward_peak(const AttentionProblem& p, Index n_q, Index n_k) {
  const Index e = bytes_of(p.dtype()), rows = std::min(standard_rows, n_q);
  Index bias = 0;
  if (p->has_bias && rows > 0)
    bias = e * (p->bias_shape[2] == 1 ? 1 : rows) * (p->bias_shape[3] == 1 ? 1 : n_k);
  const Index scores = e * (n_k + rows) * p->d + 4 * rows * n_k + bias;
  const Index values = e * (n_k * p->d_v + rows * n_k) + 4 * rows * p->d_v;
  return std::max(scores, values);
}

void count_standard(const AttentionProblem& p, bool writes_lse, Report& report) {
  const Totals n = totals_of(p, whole);
  const Index H = p->heads_q;
  Index bias = 0;
  for_members(p, [&](const Member& m, Index times) {
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, standard_forward_peak(p, m.n_q, m.n_k));
    bias += times * (p->bias_shape[2] == 1 ? ceil_div(m.n_q, standard_rows) : m.n_q) *
            (p->bias_shape[3] == 1 ? 1 : m.n_k);
  });
  TrafficTable t(p, report);
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

void count_standard_forward(const AttentionProblem& p, const Schedule&, Report& report) {
  count_standard(p, false, report);
}

void count_standard_forward_lse(const AttentionProblem& p, const Schedule&, Report& report) {
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
  if (p->has_bias)
    dbias = 4 * (p->bias_shape[2] == 1 ? 1 : rows) * (p->bias_shape[3] == 1 ? 1 : n_k) + strip;
  return std::max({dV, dP, dS, dQ, dK, dbias});
}

}  // namespace

void count_standard_backward(const AttentionProblem& p, const Schedule&, Report& report) {
  const Totals n = totals_of(p, whole);
  const Index H = p->heads_q, H_kv = p->heads_kv, sinks = p->has_sinks ? 1 : 0;
  report.peak_sram_bytes = bias_tile_bytes(p, {standard_rows, p->n_k});
  for_members(p, [&](const Member& m, Index) {
    report.peak_sram_bytes =
        std::max(report.peak_sram_bytes, standard_backward_peak(p, m.n_q, m.n_k));
  });
  TrafficTable t(p, report);
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
  t.matrix("dbias", 0, p.bias_size());
  t.vector("dsinks", 0, sinks * H);
  t.matrix("P", 2 * H * n.pairs);
  if (p->softcap > 0) t.matrix("H", 2 * H * n.pairs);
  t.matrix("dP", H * n.pairs, H * n.pairs);
  t.matrix("dS", (p->has_bias ? 3 : 2) * H * n.pairs, H * n.pairs);
  report.flops_executed = 2 * H * n.pairs * (2 * p->d + 2 * p->d_v);
}

}  // namespace flashbook::io
