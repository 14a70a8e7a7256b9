// The oracle against numbers that it did not make: finite differences, the same equations in long
// double, and rounding worked out from its definition.
#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/random_numbers.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A problem over the whole contract, drawn from a seed, small.
std::string random_problem(std::uint64_t seed) {
  std::uint64_t draws = 0;
  const auto pick = [&](std::vector<std::string> choices) {
    const double at = uniform(seed, 100, draws++) * static_cast<double>(choices.size());
    return ' ' + choices[static_cast<std::size_t>(at)];
  };
  std::string text = "dtype=fp64 d=3";
  text += pick({"hq=1", "hq=2", "hq=4 hkv=2", "hq=3 hkv=1"}) + pick({"", "dv=2", "dv=5"});
  text += pick({"", "causal", "causal", "align=top-left", "causal align=top-left"});
  text +=
      pick({"", "", "window=2,1", "window=1,inf", "window=inf,-1", "window=0,0", "window=7,-8"});
  text += pick({"", "softcap=0.7"}) + pick({"", "scale=1", "scale=-0.4", "scale=0"});
  text +=
      pick({"", "bias=b,h,q,k", "bias=1,1,1,k", "bias=1,h,q,1", "bias=b,1,q,k biasdata=hidden"});
  text += pick({"", "alibi=h", "alibi=bh"}) + pick({"", "sinks"}) + pick({"", "dlse"});
  text += pick({"", "layout=bhnd"});
  text += pick({"nq=4 nk=4", "nq=3 nk=5", "nq=5 nk=3", "b=2 nq=2 nk=4", "nq=1 nk=1",
                "nq=6 nk=7 cu_q=0,2,2,5 cu_k=0,3,4,4"});
  return text;
}

/// The loss Σ dO∘O + Σ dLSE·LSE whose gradients the backward pass claims to give.
double loss(const ProblemSpec& spec, const Inputs& inputs, const Cotangents& cotangents) {
  Results results(spec.problem);
  Oracle().forward(spec.problem, inputs, results.outputs());
  const auto& p = spec.problem.fields();
  const auto* lse_weights = static_cast<const double*>(cotangents.lse);
  const TensorView<const double> weights(static_cast<const double*>(cotangents.o), p.grad_o, p.d_v);
  double sum = 0;
  for (Index b = 0; b < p.batch; ++b)
    for (Index i = 0; i < p.n_q; ++i)
      for (Index head = 0; head < p.heads_q; ++head) {
        const Index row = (b * p.n_q + i) * p.heads_q + head;
        for (Index c = 0; c < p.d_v; ++c)
          if (const double o = results[Output::O].get(row * p.d_v + c); o != 0)
            sum += weights.row(b, i, head)[c] * o;
        const Index at = (b * p.heads_q + head) * p.n_q + i;
        const double lse = results[Output::LSE].get(at);
        if (p.has_dlse && std::isfinite(lse)) sum += lse_weights[at] * lse;
      }
  return sum;
}

/// d loss / d element by central differences of fourth order.
template <class F>
double derivative(double& element, F&& loss_now) {
  const double at = element, step = 1e-3;
  const auto shifted = [&](double by) {
    element = at + by;
    return loss_now();
  };
  const double near = shifted(step) - shifted(-step), far = shifted(2 * step) - shifted(-2 * step);
  element = at;
  return (8 * near - far) / (12 * step);
}

}  // namespace

TEST_CASE("every gradient is the derivative: finite differences over the whole contract") {
  int compared = 0;
  omp_set_num_threads(1);  // tens of thousands of tiny problems
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = random_problem(seed);
    CAPTURE(text);
    const ProblemSpec spec = parse_problem(text);
    const auto& p = spec.problem.fields();
    const Data data(spec, seed);
    const Inputs inputs = data.inputs();
    Results results(spec.problem);
    const Oracle oracle;
    oracle.forward(spec.problem, inputs, results.outputs());
    oracle.backward(spec.problem, inputs, results.outputs(), data.cotangents(),
                    results.gradients());

    const auto compare = [&](Output output, const void* input,
                             const std::array<Index, 4>& strides) {
      const auto sizes = shape(spec.problem, output);
      const Index size = sizes[0] * sizes[1] * sizes[2] * sizes[3];
      for (Index index = 0; index < size; ++index) {
        Index offset = 0, rest = index;
        for (std::size_t axis = 4; axis-- > 0; rest /= sizes[axis])
          offset += rest % sizes[axis] * strides[axis];
        // The tensors are ours to change: Data hands them out read-only to implementations.
        double& element = const_cast<double*>(static_cast<const double*>(input))[offset];
        if (std::isinf(element)) continue;  // a hidden bias
        const double expected =
            derivative(element, [&] { return loss(spec, inputs, data.cotangents()); });
        const double got = results[output].get(index);
        CAPTURE(name(output));
        CAPTURE(index);
        CHECK(std::abs(got - expected) <= 1e-8 * (1 + std::abs(expected)));
        ++compared;
      }
    };
    compare(Output::dQ, inputs.q, {p.q.batch, p.q.token, p.q.head, 1});
    compare(Output::dK, inputs.k, {p.k.batch, p.k.token, p.k.head, 1});
    compare(Output::dV, inputs.v, {p.v.batch, p.v.token, p.v.head, 1});
    if (p.has_bias)
      compare(Output::dBias, inputs.bias, contiguous(shape(spec.problem, Output::dBias)).strides);
    if (p.has_sinks) compare(Output::dSinks, inputs.sinks, {0, 0, 0, 1});
  }
  CHECK(compared > 4000);
}

// -------------------------------------------------------------------------------------------------
// More digits
// -------------------------------------------------------------------------------------------------
namespace {

using Long = long double;

Head<Long> widened(const Head<double>& head) {
  std::optional<Long> sink;
  if (head.sink) sink = *head.sink;
  return {head.Q.cast<Long>(),
          head.K.cast<Long>(),
          head.V.cast<Long>(),
          Long{head.scale},
          Long{head.softcap},
          head.bias.cast<Long>(),
          sink};
}

/// The same equations with 64 bits of mantissa, kv head by kv head, in the order of all_outputs.
struct InLongDouble {
  PerOutput<std::vector<Long>> values;

  InLongDouble(const AttentionProblem& problem, const Inputs& inputs,
               const Cotangents& cotangents) {
    for (Output output : all_outputs) {
      const auto n = shape(problem, output);
      values[output].assign(static_cast<std::size_t>(n[0] * n[1] * n[2] * n[3]),
                            output == Output::LSE ? minus_infinity<Long> : 0);
    }
    for (Index b = 0; b < problem->members; ++b)
      for (Index h = 0; h < problem->heads_q; ++h)
        add(problem, problem.member(b), h,
            widened(load_head<double>(problem, inputs, problem.member(b), h)),
            load_cotangents<double>(problem, cotangents, problem.member(b), h));
  }

 private:
  void add(const AttentionProblem& problem, const Member& m, Index h, const Head<Long>& head,
           const HeadCotangents<double>& given) {
    const auto out = flashbook::forward<Long>(head);
    const auto grad = flashbook::backward<Long>(
        head, out, HeadCotangents<Long>{given.dO.cast<Long>(), given.dlse.cast<Long>()});
    const Index kv = h / problem.group();
    add_rows(problem, Output::O, m.batch, m.first_q, h, out.O);
    add_rows(problem, Output::dQ, m.batch, m.first_q, h, grad.dQ);
    add_rows(problem, Output::dK, m.batch, m.first_k, kv, grad.dK);
    add_rows(problem, Output::dV, m.batch, m.first_k, kv, grad.dV);
    for (Index i = 0; i < m.n_q; ++i)
      at(Output::LSE, (m.batch * problem->heads_q + h) * problem->n_q + m.first_q + i) = out.lse(i);
  }

  void add_rows(const AttentionProblem& problem, Output output, Index batch, Index first,
                Index head, const Matrix<Long>& rows) {
    const auto n = shape(problem, output);
    for (Index i = 0; i < rows.rows(); ++i)
      for (Index c = 0; c < rows.cols(); ++c)
        at(output, ((batch * n[1] + first + i) * n[2] + head) * n[3] + c) += rows(i, c);
  }

  Long& at(Output output, Index index) { return values[output][static_cast<std::size_t>(index)]; }
};

/// Largest difference from the oracle in units of 2^-53 of the output's largest element.
double distance(const Results& oracle, const std::vector<Long>& exact, Output output) {
  Long largest = 1, difference = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const Long got = oracle[output].get(static_cast<Index>(i));
    if (std::isinf(exact[i]) || std::isinf(got)) {
      if (got != exact[i]) return inf;
      continue;
    }
    largest = std::max(largest, std::abs(exact[i]));
    if (!(std::abs(got - exact[i]) <= difference)) difference = std::abs(got - exact[i]);
  }
  return static_cast<double>(difference / largest) * 0x1p53;
}

constexpr double enough_digits = 300;  // 3e-14 of the largest element; 14 are used

}  // namespace

TEST_CASE("the oracle in double agrees with the same equations in long double") {
  static_assert(std::numeric_limits<Long>::digits >= 64, "long double has no digits to spare");
  const char* const problems[] = {
      "nq=65 nk=70 d=64",
      "b=2 hq=4 hkv=2 nq=40 nk=50 d=32 dv=24 causal",
      "nq=50 d=32 window=9,4 softcap=2 sinks dlse",
      "hq=2 nq=50 nk=45 d=32 bias=1,h,q,k biasdata=hidden alibi=h causal align=top-left",
      "hq=3 hkv=1 nq=60 nk=20 d=16 bias=1,1,1,k sinks causal scale=-0.5",
      "hq=2 nq=60 nk=70 d=16 causal cu_q=0,9,9,50 cu_k=0,14,31,61",
      "nq=64 d=32 data=five-normal",
      "nq=64 d=32 data=q-is-k softcap=30 dlse",
      "nq=64 d=32 data=outlier sinks",
  };
  for (const std::string problem : problems) {
    CAPTURE(problem);
    const ProblemSpec spec = parse_problem(problem + " dtype=fp64");
    const Data data(spec, 11);
    Results results(spec.problem);
    const Oracle oracle;
    oracle.forward(spec.problem, data.inputs(), results.outputs());
    oracle.backward(spec.problem, data.inputs(), results.outputs(), data.cotangents(),
                    results.gradients());
    InLongDouble exact(spec.problem, data.inputs(), data.cotangents());
    for (Output output : {Output::O, Output::LSE, Output::dQ, Output::dK, Output::dV}) {
      CAPTURE(name(output));
      CHECK(distance(results, exact.values[output], output) <= enough_digits);
      for (Long& x : exact.values[output]) x *= 1 + 1e-12L;  // and would see an error of 1e-12
      CHECK(distance(results, exact.values[output], output) > enough_digits);
    }
  }
}

// -------------------------------------------------------------------------------------------------
// Rounding
// -------------------------------------------------------------------------------------------------
namespace {

/// Counts midpoints between neighbours of T, and doubles next to them, that are rounded wrongly.
template <class T>
int wrong_roundings() {
  int wrong = 0;
  const auto value = [](std::uint16_t bits) { return static_cast<double>(std::bit_cast<T>(bits)); };
  for (std::uint16_t bits = 0; std::isfinite(value(bits + 1)); ++bits) {
    const double low = value(bits), high = value(bits + 1), middle = low + (high - low) / 2;
    const auto rounds = [&](double x, double expected) {
      wrong += static_cast<double>(round_to<T>(x)) != expected;
      wrong += static_cast<double>(round_to<T>(-x)) != -expected;
    };
    rounds(low, low);
    rounds(middle, bits % 2 == 0 ? low : high);
    // Through float these would become the midpoint, and then go to the even neighbour.
    rounds(std::nextafter(middle, 0.0), low);
    rounds(std::nextafter(middle, inf), high);
  }
  return wrong;
}

}  // namespace

TEST_CASE("double is rounded to 16 bits once, ties to even, over all neighbours") {
  CHECK(wrong_roundings<half>() == 0);
  CHECK(wrong_roundings<bfloat16>() == 0);
  CHECK(std::isinf(static_cast<float>(round_to<half>(65520.0))));
  CHECK(static_cast<float>(round_to<half>(65519.999)) == 65504.0f);
  CHECK(std::isnan(static_cast<float>(round_to<half>(not_a_number))));
  CHECK(std::isnan(static_cast<float>(round_to<bfloat16>(not_a_number))));
}

TEST_CASE("in fp64, standard attention is the oracle, bit for bit") {
  const ProblemSpec spec = parse_problem(
      "b=2 hq=4 hkv=2 nq=9 nk=11 d=5 dtype=fp64 causal softcap=3 bias=1,h,q,k alibi=h sinks dlse");
  const Data data(spec, 3);
  Results a(spec.problem), b(spec.problem);
  const Oracle oracle;
  const StandardAttention standard;
  const auto run = [&](const Implementation& implementation, Results& results) {
    implementation.forward(spec.problem, data.inputs(), results.outputs());
    implementation.backward(spec.problem, data.inputs(), results.outputs(), data.cotangents(),
                            results.gradients());
  };
  run(oracle, a);
  run(standard, b);
  for (Output output : all_outputs) CHECK(a[output].bytes() == b[output].bytes());
}
