#include "tests/unit/edited_heads.hpp"
#include "tests/unit/planted_faults.hpp"

namespace flashbook::test {
namespace {

using P = flashbook_problem;
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

bool is_empty(const Call& call, Index b, Index h, Index i) {
  return std::isinf(lse_of(call, b, h, i));
}

/// P and LSE without a maximum subtracted, in fp32: 0/0 in rows far below 0, ∞/∞ far above.
bool overflows(double lse) {
  return std::isfinite(lse) && std::abs(lse) > 104;
}

std::vector<PlantedFault> in_numbers() {
  return {
      {"C052", changed_lse([](const Call&, float x, auto...) { return std::min(x, 1e3f); })},
      {"C053", where([](const P& p) { return p.window_left == 0 || p.n_k == 1; },
                     changed(Output::O,
                             [](const Call& call, double x, Index b, Index i, Index h, Index) {
                               return std::abs(lse_of(call, b, h, i)) > 1e6 ? 1.05 * x : x;
                             }))},
      {"C054", EditedHeads([](const Reading& r) {
         if (!r.backward || r.problem->scale * std::sqrt(double(r.problem->d)) == 1) return;
         with_element_type(r.problem.dtype(), [&](auto element) {
           r.head.K = r.head.K.unaryExpr([&](double k) {
             return static_cast<double>(round_to<decltype(element)>(k * r.head.scale));
           });
         });
         r.head.scale = 1;
       })},
      {"C055", EditedHeads([](const Reading& r) {
         if (r.head.bias.size() > 0 && (r.head.bias.array() < -6e4).any() &&
             (r.head.bias.array() > -6e4).any())
           r.head.V.setConstant(NaN);
       })},
      {"C056", EditedHeads([](const Reading& r) {
         const double x = (r.head.Q * r.head.K.transpose()).cwiseAbs().maxCoeff();
         if (r.head.softcap > 0 && x * r.head.scale / r.head.softcap > 88)
           r.head.V.setConstant(NaN);
       })},
      {"C058", rows_become(Output::O, NaN, overflows)},
      {"C059", as_if([](P& p) { p.scale = 1 / std::sqrt(double(p.d)); })},
      {"C060",
       [](const Call& call) {
         const double scale = call.problem->scale, usual = 1 / std::sqrt(double(call.problem->d));
         if (scale != usual && scale != 0) scaled(Output::dQ, usual / scale)(call);
       }},
      {"C067", rows_become(Output::O, NaN, [](double lse) { return lse > 88 && lse < inf; })},
      {"C072",
       changed(Output::dQ, [](const Call& call, double x, Index b, Index i, Index h,
                              Index) { return x == 0 && !is_empty(call, b, h, i) ? 1e-6 : x; })},
  };
}

std::vector<PlantedFault> in_lse() {
  return {
      {"C062", where([](const P& p) { return p.heads_q != p.heads_kv; },
                     [](const Call& call) {  // [N_q, H_q] in place of [H_q, N_q]
                       if (call.gradients || call.problem->batch != 1) return;
                       const Index heads = call.problem->heads_q, rows = call.problem->n_q;
                       auto* lse = static_cast<float*>(call.outputs.lse);
                       const std::vector<float> right(lse, lse + heads * rows);
                       for (Index n = 0; n < heads * rows; ++n)
                         lse[n] = right[static_cast<std::size_t>(n % heads * rows + n / heads)];
                     })},
      {"C063", where([](const P& p) { return p.n_k == 0; },
                     changed_lse([](const Call&, float, auto...) { return 0.f; }))},
      {"C066", where([](const P& p) { return p.n_k == 0; }, becomes(Output::O, NaN))},
  };
}

std::vector<PlantedFault> in_added() {
  return {
      {"C075", where([](const P& p) { return p.has_bias && p.causal; }, becomes(Output::dQ, NaN))},
      {"C082", where([](const P& p) { return p.has_bias && p.n_k % 8 != 0; },
                     stops([](const Call&) { return true; }))},
      {"C083", as_if([](P& p) {
         if (p.has_bias && p.bias_strides[2] > p.n_k && p.bias_strides[3] == 1)
           p.bias_strides[2] = p.n_k;
       })},
      {"C084", where([](const P& p) { return p.alibi != FLASHBOOK_NO_ALIBI && !p.causal; },
                     as_if([](P& p) { p.alignment = 1 - p.alignment; }))},
      {"C085", where([](const P& p) { return p.alibi != FLASHBOOK_NO_ALIBI && p.n_q == 1; },
                     changed_lse([](const Call&, float x, Index, Index h, Index) {
                       return x - std::exp2(-2 * static_cast<float>(h + 1));
                     }))},
      {"C087", where([](const P& p) { return p.has_sinks && p.has_dlse; },
                     as_if([](P& p) { p.has_dlse = 0; }))},
  };
}

}  // namespace

std::vector<PlantedFault> faults_of_value() {
  std::vector<PlantedFault> all;
  for (const auto group : {in_numbers, in_lse, in_added})
    for (PlantedFault& fault : group()) all.push_back(std::move(fault));
  return all;
}

}  // namespace flashbook::test
