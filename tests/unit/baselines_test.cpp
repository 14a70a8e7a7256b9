// Implementations that compute nothing of the kind, and look as if they might: the suite must tell
// them from attention, output by output, wherever attention is not what they write.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/faulty.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;
using namespace flashbook::test;

constexpr Output matrices[] = {Output::O, Output::dQ, Output::dK, Output::dV};

/// f → every element of O, dQ, dK and dV.
template <class F>
void change_all(const Call& call, F f) {
  for (Output output : matrices) changed(output, f)(call);
}

/// Nothing but zeros.
void zeros_of(const Call& call) {
  change_all(call, [](const Call&, double, auto...) { return 0.0; });
}

/// The mean of the values a row sees, and its gradients: softmax of nothing.
void mean_of_v(const Call& call) {
  as_if([](flashbook_problem& p) {
    p.scale = p.softcap = 0, p.has_bias = p.has_sinks = 0, p.alibi = FLASHBOOK_NO_ALIBI;
  })(call);
}

/// A copy of what was written, read at other places.
class Copy {
 public:
  Copy(const Call& call, Output output)
      : sizes_(shape(call.problem, output)),
        values_(static_cast<std::size_t>(sizes_[0] * sizes_[1] * sizes_[2] * sizes_[3])) {
    changed(output, [&](const Call&, double x, Index b, Index t, Index h, Index c) {
      values_[place(b, t, h, c)] = x;
      return x;
    })(call);
  }
  double operator()(Index b, Index t, Index h, Index c) const { return values_[place(b, t, h, c)]; }
  Index heads() const { return sizes_[2]; }
  Index channels() const { return sizes_[3]; }

 private:
  std::size_t place(Index b, Index t, Index h, Index c) const {
    return static_cast<std::size_t>(((b * sizes_[1] + t) * sizes_[2] + h) * sizes_[3] + c);
  }
  std::array<Index, 4> sizes_;
  std::vector<double> values_;
};

/// Every head's result in the place of the head before.
void permuted_heads(const Call& call) {
  for (Output output : matrices) {
    if (is_gradient(output) != (call.gradients != nullptr)) continue;
    const Copy right(call, output);
    changed(output, [&](const Call&, double, Index b, Index t, Index h, Index c) {
      return right(b, t, (h + 1) % right.heads(), c);
    })(call);
  }
}

/// The right numbers of every row, so the right norm, a channel further on.
void shuffled_channels(const Call& call) {
  for (Output output : matrices) {
    if (is_gradient(output) != (call.gradients != nullptr)) continue;
    const Copy right(call, output);
    changed(output, [&](const Call&, double, Index b, Index t, Index h, Index c) {
      return right(b, t, h, (c + 1) % right.channels());
    })(call);
  }
}

/// What the call before wrote into the same buffers: right for other data.
void previous_output(const Call& call) {
  const Data other({call.problem, {}}, 987654321);
  if (call.gradients)
    Oracle().backward(call.problem, other.inputs(), call.outputs, other.cotangents(),
                      *call.gradients);
  else
    Oracle().forward(call.problem, other.inputs(), call.outputs);
}

struct Baseline {
  const char* name;
  Faulty::Fault fault;
};
const Baseline baselines[] = {{"zeros", zeros_of},
                              {"mean of V", mean_of_v},
                              {"permuted heads", permuted_heads},
                              {"previous output", previous_output},
                              {"shuffled channels", shuffled_channels}};

/// Runs both passes of an implementation on the data that the suite gives it.
Results run(const Implementation& implementation, const ProblemSpec& spec, std::uint64_t seed) {
  const Data data(spec, seed);
  Results results(spec.problem);
  implementation.forward(spec.problem, data.inputs(), results.outputs());
  implementation.backward(spec.problem, data.inputs(), results.outputs(), data.cotangents(),
                          results.gradients());
  return results;
}

/// Whether both are the same to bf16's last digits, or too small for it.
bool agree(const Storage& a, const Storage& b) {
  for (Index i = 0; i < a.layout().size(); ++i)
    if (!(a.get(i) == b.get(i) ||
          std::abs(a.get(i) - b.get(i)) <= 0.03 * std::abs(b.get(i)) + 1e-30))
      return false;
  return true;
}

/// How often an output passed, and how often by right.
struct Tally {
  int cases = 0, passed = 0, right = 0;
  std::string unearned;  // cases that passed and were not right
};

/// Cases whose outputs are numbers that can be told from others: not where logits are so large that
/// the backward pass is checked for its range alone (docs/gates.md), nor where NaN has spread.
std::vector<Case> telling_cases() {
  std::vector<Case> cases;
  for (const Case& each : affordable_cases()) {
    const Values values = each.spec.recipe.values;
    const bool is_too_large = values == Values::logits_1e4 || values == Values::logits_1e10 ||
                              values == Values::logits_std_1e3;
    if (each.spec.problem.dtype() == DType::bf16 && !is_too_large &&
        each.spec.recipe.planted == Planted::none)
      cases.push_back(each);
  }
  return cases;
}

/// With the same V in every token the gradients of the scores are 0, and what is written is
/// roundings.
bool is_noise(const Case& each, Output output) {
  const Values values = each.spec.recipe.values;
  return (values == Values::constant_v || values == Values::flat_constant) &&
         (output == Output::dQ || output == Output::dK);
}

/// One baseline on one case.
void tally(const Baseline& baseline, const Case& each, Exercise& exercise, PerOutput<Tally>& sums) {
  const Faulty implementation(baseline.fault);
  const CaseReport report = exercise.verify(implementation);
  const Results wrote = run(implementation, each.spec, 1), exact = run(Oracle(), each.spec, 1);
#pragma omp critical(flashbook_baselines_test)
  for (const OutputReport& judged : report.outputs) {
    if (wrote[judged.output].layout().size() == 0 || is_noise(each, judged.output)) continue;
    Tally& sum = sums[judged.output];
    const bool is_right = agree(wrote[judged.output], exact[judged.output]);
    ++sum.cases;
    sum.passed += judged.margins.pass();
    sum.right += judged.margins.pass() && is_right;
    if (judged.margins.pass() && !is_right) sum.unearned += ' ' + each.name;
  }
}

}  // namespace

TEST_CASE("zeros, means, permuted heads, stale and shuffled outputs fail wherever they are wrong") {
  const std::vector<Case> cases = telling_cases();
  std::array<PerOutput<Tally>, std::size(baselines)> sums;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < cases.size(); ++n) {
    Exercise exercise(cases[n], 1);
    for (std::size_t b = 0; b < std::size(baselines); ++b)
      tally(baselines[b], cases[n], exercise, sums[b]);
  }
  for (std::size_t b = 0; b < std::size(baselines); ++b)
    for (Output output : matrices) {
      const Tally& sum = sums[b][output];
      const std::string what = std::string(baselines[b].name) + ", " + std::string(name(output));
      MESSAGE(what << ": " << sum.passed << " of " << sum.cases << " cases pass, " << sum.right
                   << " of them by right");
      CHECK_MESSAGE(sum.unearned.empty(), what << sum.unearned);
      CHECK(sum.passed < sum.cases / 2);  // most of them where there is one head, or one channel
    }
}
