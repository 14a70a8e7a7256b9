#include <atomic>

#include "tests/unit/edited_heads.hpp"
#include "tests/unit/planted_faults.hpp"

namespace flashbook::test {
namespace {

using P = flashbook_problem;
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

bool has_empty_row(const Call& call) {
  for (Index row = 0; row < call.problem.lse_size(); ++row)
    if (std::isinf(static_cast<const float*>(call.outputs.lse)[row])) return true;
  return false;
}

bool is_slack(const Call& call, Output output, Index token) {
  const bool is_key = output == Output::dK || output == Output::dV;
  return token >= (is_key ? call.problem.first_slack_k() : call.problem.first_slack_q());
}

bool has_member(const AttentionProblem& problem, Index fewest, Index most) {
  for (Index b = 0; b < problem->members; ++b)
    if (const Index n = problem.member(b).n_k; n >= fewest && n <= most) return true;
  return false;
}

/// NaN in the rows of members whose keys hold NaN that no row sees: 0·NaN, not selected away.
Faulty::Fault multiplies_hidden_keys() {
  return EditedHeads([](const Reading& r) {
    if (!r.backward && r.head.V.hasNaN()) r.head.V.setConstant(NaN);
  });
}

/// NaN in the rows of members behind one whose V holds NaN or Inf: 0·NaN, of keys of one box.
double beside_member_before(const Call& call, double x, Index, Index token, Index h, Index) {
  const AttentionProblem& problem = call.problem;
  for (Index b = 0; b + 1 < problem->members; ++b)
    if (token >= problem.member(b + 1).first_q &&
        !load_head<double>(problem, call.inputs, problem.member(b), h).V.allFinite())
      return NaN;
  return x;
}

std::vector<PlantedFault> in_empty_rows_and_slack() {
  const auto is_none = [](double lse) { return std::isinf(lse); };
  const auto unwritten = [](Output output) {
    return changed(output, [=](const Call& call, double x, Index, Index token, auto...) {
      return is_slack(call, output, token) ? NaN : x;
    });
  };
  return {
      {"C001", rows_become(Output::dQ, NaN, is_none)},
      {"C002", changed_lse([](const Call&, float x, auto...) { return std::isinf(x) ? 0 : x; })},
      {"C003", changed_lse([](const Call&, float x, auto...) { return std::max(x, -1e30f); })},
      {"C005", changed(Output::O,
                       [](const Call& call, double x, auto...) {
                         return call.problem->batch > 1 && has_empty_row(call) ? NaN : x;
                       })},
      {"C006", where([](const P& p) { return !p.packed; }, multiplies_hidden_keys())},
      {"C007", where([](const P& p) { return p.packed; },
                     changed(Output::O,
                             [](const Call& call, double x, auto...) {
                               return call.problem.first_slack_k() < call.problem->n_k ? NaN : x;
                             }))},
      {"C008", changed(Output::dK,
                       [](const Call& call, double x, auto...) {
                         return call.problem->packed && call.problem->n_q % 16 ? NaN : x;
                       })},
      {"C100",
       where([](const P& p) { return p.packed; }, changed(Output::O, beside_member_before))},
      {"C009", unwritten(Output::dQ)},
      {"C010", unwritten(Output::dV)},
  };
}

std::vector<PlantedFault> in_masks() {
  const auto other_alignment = as_if([](P& p) { p.alignment = 1 - p.alignment; });
  return {
      {"C011", where([](const P& p) { return p.causal && p.n_q > p.n_k; },
                     as_if([](P& p) { p.causal = 0; }))},
      {"C012", other_alignment},
      {"C013", where([](const P& p) { return p.n_q > p.n_k; }, other_alignment)},
      {"C014", where([](const P& p) { return p.packed; }, other_alignment)},
      {"C015", rows_become(Output::O, NaN, [](double lse) { return std::isinf(lse); })},
      {"C016", where([](const P& p) { return p.window_left == p.n_q - 1 && p.window_right == 0; },
                     as_if([](P& p) { --p.window_left; }))},
      {"C017", where([](const P& p) { return p.window_left != unbounded; },
                     as_if([](P& p) { ++p.window_left; }))},
      {"C018", where(
                   [](const P& p) {
                     return p.window_left != unbounded && p.window_right != unbounded &&
                            p.window_left + p.window_right < 0;
                   },
                   as_if([](P& p) { p.window_left = p.window_right = unbounded; }))},
      {"C019", where([](const P& p) { return p.window_left != unbounded; },
                     as_if([](P& p) { p.window_left += 4; }))},
  };
}

/// dK and dV of the last query head of each group.
void keep_last_head(const Call& call) {
  if (!call.gradients || call.problem.group() == 1) return;
  P one = call.problem.fields();
  const Index group = call.problem.group(), last = group - 1;
  one.heads_q = one.heads_kv;
  one.q.head *= group, one.grad_o.head *= group;
  one.has_bias = one.has_sinks = one.has_dlse = 0, one.alibi = FLASHBOOK_NO_ALIBI;
  std::vector<double> dQ(static_cast<std::size_t>(one.batch * one.n_q * one.heads_q * one.d));
  one.grad_q = bnhd_strides(one.n_q, one.heads_q, one.d);
  const AttentionProblem problem(one, call.problem.cu_seqlens_q(), call.problem.cu_seqlens_k());
  const auto from = [&](const void* tensor, Index elements) -> const void* {
    return static_cast<const std::byte*>(tensor) + elements * bytes_of(problem.dtype());
  };
  Inputs inputs = call.inputs;
  inputs.q = from(inputs.q, last * call.problem->q.head);
  const Cotangents cotangents = {from(call.cotangents->o, last * call.problem->grad_o.head),
                                 nullptr};
  Gradients gradients = {dQ.data(), call.gradients->k, call.gradients->v, nullptr, nullptr};
  Oracle().backward(problem, inputs, call.outputs, cotangents, gradients);
}

std::vector<PlantedFault> in_members_and_heads() {
  return {
      {"C020",
       [](const Call& call) {
         if (call.problem->packed && has_member(call.problem, 0, 0)) scaled(Output::O, 0)(call);
       }},
      {"C021", stops([](const Call& call) {
         return call.problem->packed && has_member(call.problem, 0, 0) &&
                has_member(call.problem, 1, 1);
       })},
      {"C022", where([](const P& p) { return p.has_bias == 0; },
                     stops([](const Call& call) { return has_member(call.problem, 0, 0); }))},
      {"C025",
       where([](const P& p) { return p.packed && p.members > 5; }, becomes(Output::dQ, NaN))},
      {"C026", EditedHeads([](const Reading& r) {
         if (r.problem->causal == 0) return;
         for (Index i = 0; i < r.member.n_q; ++i)
           for (Index j = i / r.problem.group() + r.member.diagonal + 1; j < r.member.n_k; ++j)
             if (j >= 0) r.hide(i, j);
       })},
      {"C027", keep_last_head},
      {"C028", stops([](const Call& call) { return call.problem->n_q < call.problem.group(); })},
      {"C029",
       where([](const P& p) { return p.heads_q == 8 && p.heads_kv < 8; }, scaled(Output::O, 1.02))},
  };
}

std::vector<PlantedFault> in_sizes() {
  const auto is_low = [](double lse) { return lse < -88.7 && std::isfinite(lse); };
  return {
      {"C030", where([](const P& p) { return p.d % 2 == 1 && p.d > 1; },
                     EditedHeads([](const Reading& r) { r.head.Q.rightCols(1).setZero(); }))},
      {"C031", changed(Output::dV,
                       [](const Call& call, double x, Index, Index, Index, Index c) {
                         const Index d_v = call.problem->d_v;
                         return d_v != call.problem->d && d_v % 16 == 8 && c >= d_v - 8 ? 0 : x;
                       })},
      {"C032",
       where([](const P& p) { return p.d == 16; }, stops([](const Call&) { return true; }))},
      {"C034",
       where([](const P& p) { return p.n_k % 128 == 64; }, rows_become(Output::dQ, NaN, is_low))},
      {"C035",
       where([](const P& p) { return p.n_k > 128 && p.n_k % 2; }, becomes(Output::dK, NaN))},
      {"C036", stops([](const Call& call) { return call.gradients && call.problem->n_q > 130; })},
      {"C038", where([](const P& p) { return p.n_k > p.n_q && !p.packed && !p.has_bias; },
                     as_if([](P& p) { p.n_k = p.n_q; }))},
      {"C099", where([](const P& p) { return p.n_q == 64 && p.n_k == 64; },
                     rows_become(Output::dQ, NaN, is_low))},
      {"C045", changed(Output::O,
                       [](const Call&, double x, Index b, auto...) { return b > 65535 ? 0 : x; })},
      {"C049",
       where([](const P& p) { return p.n_q > 32767 || p.n_k > 32767; }, scaled(Output::O, 0))},
      {"C050",
       where([](const P& p) { return p.batch > 65535; }, stops([](const Call&) { return true; }))},
      {"C077", changed(Output::O,
                       [](const Call&, double x, Index b, auto...) {
                         static std::atomic<unsigned> draws = 0;  // by whichever block comes first
                         const bool up = b > 65535 && ++draws * 2654435761u >> 31;
                         return up ? x * (1 + 0x1p-7) : x;
                       })},
      {"C065", where([](const P& p) { return p.n_q == 1 && p.n_k > 1 && p.n_k % 128 == 1; },
                     as_if([](P& p) { --p.n_k; }))},
      {"C073", where([](const P& p) { return p.n_k < 18 && p.n_q < 16; }, scaled(Output::dQ, 0))},
  };
}

bool is_like_rows(const flashbook_strides& s, Index heads, Index channels) {
  return s.token == heads * channels && s.head == channels;
}

std::vector<PlantedFault> in_strides() {
  return {
      {"C039", as_if([](P& p) {
         if (std::abs(p.q.token) > p.heads_q * p.d) p.q.head = 0;
         if (std::abs(p.k.token) >= p.heads_kv * p.d && p.k.token < 0) p.k.head = 0;
       })},
      {"C040", stops([](const Call& call) { return call.problem->q.token % 8 != 0; })},
      {"C041", as_if([](P& p) {
         if (!is_like_rows(p.k, p.heads_kv, p.d)) p.k.head = 0;
       })},
      {"C043", stops([](const Call& call) { return call.problem->grad_o.token == 0; })},
      {"C044",
       [](const Call& call) {
         const P& p = call.problem.fields();
         if (call.gradients || is_like_rows(p.o, p.heads_q, p.d_v)) return;
         with_element_type(call.problem.dtype(), [&](auto element) {  // between two heads
           static_cast<decltype(element)*>(call.outputs.o)[p.d_v] = round_to<decltype(element)>(1);
         });
       }},
      {"C095", as_if([](P& p) {
         if (p.heads_q > 1 && p.q.token == p.d) p.q.token = p.heads_q * p.d, p.q.head = p.d;
       })},
  };
}

}  // namespace

std::vector<PlantedFault> faults_of_place() {
  std::vector<PlantedFault> all;
  for (const auto group :
       {in_empty_rows_and_slack, in_masks, in_members_and_heads, in_sizes, in_strides})
    for (PlantedFault& fault : group()) all.push_back(std::move(fault));
  return all;
}

}  // namespace flashbook::test
