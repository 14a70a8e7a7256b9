#include "tests/conformance/support.hpp"

#include <algorithm>

namespace flashbook::conformance {
namespace {

struct Row {
  std::string_view implementation;
  std::vector<std::string_view> refused_forward, refused_backward;  // options of options_of
};

const std::vector<std::string_view> every_dtype = {"fp16", "bf16", "fp32", "fp64"};
/// What the rungs of the ladders leave to the product kernels.
const std::vector<std::string_view> not_in_rungs = {"fp64", "packed", "window", "softcap",
                                                    "bias", "alibi",  "sinks"};

const std::vector<std::string_view> not_in_16_bit_rungs = {"fp32",    "fp64", "packed", "window",
                                                           "softcap", "bias", "alibi",  "sinks"};

const std::vector<std::string_view> not_in_hopper_rungs = {
    "fp32", "fp64", "packed", "window", "softcap", "bias", "alibi", "sinks", "no-tma"};

/// The support table.
const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"oracle", {}, {}},
      {"standard", {}, {}},
      {"io.standard", {"fp64"}, {"fp64"}},
      {"io.fa2", {"fp64"}, {"fp64"}},
      {"io.fa1", {"fp64"}, {"fp64"}},
      {"io.fa1_shipped", {"fp64"}, {"fp64"}},
      {"io.fa2_literal", {"fp64"}, {"fp64"}},
      {"io.fused", {"fp64"}, {"fp64"}},
      {"io.fused_in_order", {"fp64"}, {"fp64"}},
      {"io.split_kv", {"fp64"}, every_dtype},
      {"cuda.standard", not_in_rungs, not_in_rungs},
      {"cuda.fa1", not_in_rungs, not_in_rungs},
      {"cuda.one_pass", not_in_rungs, not_in_rungs},
      {"cuda.tensor_core", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.deferred_normalisation", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.exp2", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.unmasked_tiles", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.double_buffering", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.swizzle", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.q_in_registers", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.tile_shapes", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.lazy_rescale", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.ping_pong", not_in_16_bit_rungs, not_in_rungs},
      {"cuda.fa2", {"fp32", "fp64"}, not_in_rungs},
      {"cuda.tma_wgmma", not_in_hopper_rungs, not_in_rungs},
      {"cuda.warp_specialised", not_in_hopper_rungs, not_in_rungs},
      {"cuda.gemm_softmax_overlap", not_in_hopper_rungs, not_in_rungs},
      {"cuda.warpgroup_ping_pong", not_in_hopper_rungs, not_in_rungs},
      {"cuda.wgmma_q_in_registers", not_in_hopper_rungs, not_in_rungs},
      {"cuda.no_running_maximum", not_in_hopper_rungs, not_in_rungs},
      {"cuda.persistent_tiles", not_in_hopper_rungs, not_in_rungs},
      {"cuda.cluster_multicast", not_in_hopper_rungs, not_in_rungs},
      {"cuda.fa3", {"fp32", "fp64", "bias", "alibi", "no-tma"}, not_in_rungs},
  };
  return rows;
}

bool is_strided(const flashbook_problem& p) {
  const flashbook_problem plain =
      dense_problem(p.batch, p.heads_q, p.heads_kv, p.n_q, p.n_k, p.d, p.d_v);
  const auto differs = [](const flashbook_strides& a, const flashbook_strides& b) {
    return a.batch != b.batch || a.token != b.token || a.head != b.head;
  };
  return differs(p.q, plain.q) || differs(p.k, plain.k) || differs(p.v, plain.v) ||
         differs(p.o, plain.o) || differs(p.grad_o, plain.grad_o) ||
         differs(p.grad_q, plain.grad_q) || differs(p.grad_k, plain.grad_k) ||
         differs(p.grad_v, plain.grad_v);
}

/// Some row of Q, K or V does not begin at a multiple of 16 bytes behind the one before, in 16
/// bits.
bool has_rows_tma_cannot_load(const flashbook_problem& p) {
  const auto is_bad = [](std::int64_t n, std::int64_t stride) {
    return n > 1 && (stride < 8 || (stride & 7) != 0);
  };
  const auto any_bad = [&](const flashbook_strides& s, std::int64_t tokens, std::int64_t heads) {
    return is_bad(p.batch, s.batch) || is_bad(tokens, s.token) || is_bad(heads, s.head);
  };
  return any_bad(p.q, p.n_q, p.heads_q) || any_bad(p.k, p.n_k, p.heads_kv) ||
         any_bad(p.v, p.n_k, p.heads_kv);
}

}  // namespace

std::string_view name(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

std::vector<std::string_view> options_of(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  std::vector<std::string_view> options = {name(problem.dtype())};
  const auto add = [&](bool used, std::string_view option) {
    if (used) options.push_back(option);
  };
  add(p.causal, "causal");
  add(problem.alignment() == Alignment::top_left, "top-left");
  add(p.window_left != unbounded || p.window_right != unbounded, "window");
  add(p.softcap > 0, "softcap");
  add(p.has_bias, "bias");
  add(p.alibi != FLASHBOOK_NO_ALIBI, "alibi");
  add(p.has_sinks, "sinks");
  add(p.has_dlse, "dlse");
  add(p.heads_q != p.heads_kv, "grouped");
  add(p.d != p.d_v, "d!=dv");
  add(p.packed, "packed");
  add(p.scale <= 0, "scale<=0");
  add(is_strided(p), "strided");
  add(has_rows_tma_cannot_load(p), "no-tma");
  return options;
}

std::optional<bool> should_refuse(std::string_view implementation, const AttentionProblem& problem,
                                  Pass pass) {
  // "io.fa2[16x48]" is io.fa2 with another schedule, "cuda.one_pass@gpu" the same on a machine.
  const std::string_view family = implementation.substr(0, implementation.find_first_of("[@"));
  const auto row = std::find_if(table().begin(), table().end(), [&](const Row& candidate) {
    return candidate.implementation == family;
  });
  if (row == table().end()) return std::nullopt;
  const auto& refused = pass == Pass::forward ? row->refused_forward : row->refused_backward;
  const std::vector<std::string_view> used = options_of(problem);
  return std::any_of(used.begin(), used.end(), [&](std::string_view option) {
    return std::find(refused.begin(), refused.end(), option) != refused.end();
  });
}

}  // namespace flashbook::conformance
