// The gates: they agree with gates.py, the executable form of docs/gates.md, and what each says of
// NaN, Inf and exact zeros.
#include "tests/conformance/judge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/data.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct GoldenTolerance {
  Output output;
  double largest, mean;
};
struct GoldenRms {
  Output output;
  double limit;
};
struct GoldenGain {
  std::string direction;
  double limit;
};
struct Golden {
  std::string problem;
  bool materialised;
  std::vector<GoldenTolerance> gate1;
  std::vector<GoldenRms> gate2;
  std::vector<GoldenGain> gate3;
};

const Golden golden[] = {
#include "golden_gates.inc"
};

Expectation expectation_of(const std::string& problem, bool materialised = false) {
  const ProblemSpec spec = parse_problem(problem);
  const Data data(spec, 7);
  Properties properties;
  properties.materialised = materialised;
  return expect(spec.problem, data.inputs(), data.cotangents(),
                arithmetic_of(spec.problem.dtype(), properties));
}

/// Relative: tolerances of 1e-7 are compared as closely as those of 1. Gains
/// are what is left of sums that cancel, hence no closer.
void check_close(double got, double expected) {
  CAPTURE(got);
  CAPTURE(expected);
  CHECK((got == expected || std::abs(got - expected) <= 1e-8 * std::abs(expected)));
}

/// Gate 1 of an output of one element.
double gate1(double got, double exact, double tolerance, DType dtype = DType::fp16,
             bool may_be_nan = false) {
  Expectation expected = {};
  expected.arithmetic = arithmetic_of(dtype, {});
  expected.exact[Output::O] = {exact};
  expected.tolerance[Output::O] = {tolerance};
  return judge(expected, Output::O, {1, 1, 1, 1}, {got}, {may_be_nan}).gate1;
}

}  // namespace

TEST_CASE("the three gates agree with gates.py") {
  for (const Golden& g : golden) {
    CAPTURE(g.problem);
    CAPTURE(g.materialised);
    const Expectation expected = expectation_of(g.problem, g.materialised);
    for (const GoldenTolerance& bound : g.gate1) {
      CAPTURE(name(bound.output));
      double most = 0, sum = 0, count = 0;
      for (double tolerance : expected.tolerance[bound.output]) {
        most = std::max(most, tolerance);
        sum += tolerance;
        count += tolerance > 0;
      }
      check_close(most, bound.largest);
      check_close(sum / count, bound.mean);
    }
    std::size_t limits = 0;
    for (Output output : all_outputs) limits += expected.rms_limit[output].has_value();
    CHECK(limits == g.gate2.size());
    for (const GoldenRms& rms : g.gate2) {
      CAPTURE(name(rms.output));
      check_close(expected.rms_limit[rms.output].value_or(0), rms.limit);
    }
    CHECK(expected.directions.size() == g.gate3.size());
    for (const GoldenGain& gain : g.gate3) {
      CAPTURE(gain.direction);
      const auto found = std::find_if(expected.directions.begin(), expected.directions.end(),
                                      [&](const Direction& d) { return d.name == gain.direction; });
      REQUIRE(found != expected.directions.end());
      check_close(found->limit, gain.limit);
    }
  }
}

TEST_CASE("gate 1: an error up to the tolerance passes, NaN and Inf must be where they belong") {
  CHECK(gate1(1.5, 1, 1) == 0.5);
  CHECK(gate1(3, 1, 1) == 2);
  CHECK(gate1(0, 0, 0) == 0);
  CHECK(gate1(1e-300, 0, 0) == inf);  // exact zeros are exact
  CHECK(gate1(NaN, 1, 1e300) == inf);
  CHECK(gate1(NaN, NaN, NaN) == 0);
  CHECK(gate1(1, NaN, NaN) == inf);
  CHECK(gate1(1, inf, NaN) == inf);
  CHECK(gate1(-inf, inf, NaN) == inf);
  CHECK(gate1(inf, inf, NaN) == 0);
  CHECK(gate1(1, 1, NaN) == 0);
  CHECK(gate1(2, 1, NaN) == inf);
}

TEST_CASE("gate 1: a result that overflows the dtype may be infinite") {
  CHECK(gate1(inf, 65519, 0.5) == inf);  // rounds to 65504
  CHECK(gate1(inf, 65519, 2) == 0);
  CHECK(gate1(-inf, 65519, 2) == inf);
  CHECK(gate1(inf, 65519, 2, DType::bf16) == inf);
}

TEST_CASE("gate 1: NaN passes where it may have spread, a wrong number does not") {
  CHECK(gate1(NaN, 1, 1, DType::fp16, true) == 0);
  CHECK(gate1(3, 1, 1, DType::fp16, true) == 2);
}

TEST_CASE("gate 3: a direction that is NaN is not forgotten at the next") {
  Expectation expected = {};
  expected.arithmetic = arithmetic_of(DType::fp16, {});
  expected.exact[Output::dQ] = {1, 1};
  expected.tolerance[Output::dQ] = {1, 1};
  for (const bool nan_first : {true, false}) {
    const Direction broken = {"dQ", Output::dQ, {1, 1}, NaN}, good = {"Δ", Output::dQ, {1, 1}, 1};
    expected.directions = {nan_first ? broken : good, nan_first ? good : broken};
    const Margins margins = judge(expected, Output::dQ, {1, 1, 1, 2}, {1, 1.5}, {});
    CHECK(std::isnan(margins.gate3.value_or(0)));
    CHECK(margins.gate3_direction == "dQ");
    CHECK_FALSE(margins.pass());
  }
}

TEST_CASE("a member of a packed problem is judged as if it were alone") {
  const ProblemSpec spec = parse_problem(
      "hq=4 hkv=2 nq=60 nk=70 d=16 dtype=bf16 causal softcap=3 sinks cu_q=0,9,9,52 "
      "cu_k=0,14,31,65");
  const auto& p = spec.problem.fields();
  const Data data(spec, 7);
  const Arithmetic arithmetic = arithmetic_of(DType::bf16, {});
  const Expectation together = expect(spec.problem, data.inputs(), data.cotangents(), arithmetic);
  for (Index b = 0; b < p.members; ++b) {
    const Member m = spec.problem.member(b);
    flashbook_problem fields = p;
    fields.packed = 0, fields.members = 1, fields.n_q = m.n_q, fields.n_k = m.n_k;
    const AttentionProblem problem(fields);
    const auto from = [](const void* start, Index elements) -> const void* {
      return static_cast<const bfloat16*>(start) + elements;
    };
    Inputs inputs = data.inputs();
    inputs.q = from(inputs.q, m.first_q * p.q.token);
    inputs.k = from(inputs.k, m.first_k * p.k.token);
    inputs.v = from(inputs.v, m.first_k * p.v.token);
    Cotangents cotangents = data.cotangents();
    cotangents.o = from(cotangents.o, m.first_q * p.grad_o.token);
    const Expectation alone = expect(problem, inputs, cotangents, arithmetic);
    for (Output output : {Output::O, Output::dQ, Output::dK, Output::dV}) {
      const auto n = shape(problem, output);
      const bool is_query = output == Output::O || output == Output::dQ;
      const auto first = static_cast<std::size_t>((is_query ? m.first_q : m.first_k) * n[2] * n[3]);
      for (std::size_t i = 0; i < alone.exact[output].size(); ++i) {
        CHECK(together.exact[output][first + i] == alone.exact[output][i]);
        CHECK(together.tolerance[output][first + i] == alone.tolerance[output][i]);
      }
    }
  }
}

TEST_CASE("a mean never overrides a maximum") {
  Margins margins;
  margins.gate1 = 1.01;
  margins.gate2 = 0.1;
  CHECK_FALSE(margins.pass());
  margins.gate1 = 0.1;
  CHECK(margins.pass());
  margins.gate2 = NaN;
  CHECK_FALSE(margins.pass());
  margins.gate2 = 0.1;
  margins.gate3 = 1.01;
  CHECK_FALSE(margins.pass());
}

TEST_CASE("what no visible pair contributes to must be exact") {
  // Rows 0 … 2 of a bottom-right causal 5 x 2 problem see nothing.
  const Expectation expected = expectation_of("nq=5 nk=2 d=4 causal bias=1,1,q,k dtype=fp16");
  for (std::size_t row = 0; row < 5; ++row) {
    CHECK((expected.tolerance[Output::O][row * 4] == 0) == (row < 3));
    CHECK((expected.tolerance[Output::dQ][row * 4] == 0) == (row < 3));
    CHECK((expected.tolerance[Output::dBias][row * 2] == 0) == (row < 3));
    CHECK((expected.exact[Output::LSE][row] == -inf) == (row < 3));
  }
  CHECK(expected.tolerance[Output::dBias][3 * 2 + 1] == 0);  // hidden from row 3
  CHECK(expected.tolerance[Output::dBias][4 * 2 + 1] > 0);
}

TEST_CASE("no cotangent, no gradient: exactly") {
  const Expectation expected = expectation_of("nq=5 d=4 do=zero dtype=fp16");
  CHECK(expected.tolerance[Output::O][0] > 0);
  for (Output output : {Output::dQ, Output::dK, Output::dV})
    CHECK(*std::max_element(expected.tolerance[output].begin(), expected.tolerance[output].end()) ==
          0);
}

TEST_CASE("the materialised path skips what its dtype cannot store") {
  CHECK(expectation_of("nq=9 d=16 data=five-normal scale=400 dtype=fp16", true)
            .overflow.substr(0, 3) == "|S|");
  CHECK(expectation_of("nq=9 d=16 data=five-normal scale=400 dtype=bf16", true).overflow.empty());
  CHECK(expectation_of("nq=9 d=16 data=five-normal scale=400 dtype=fp16", false).overflow.empty());
}

TEST_CASE("fp64 has gate 1 alone") {
  const Expectation expected = expectation_of("nq=40 d=16 dtype=fp64");
  CHECK(expected.directions.empty());
  CHECK_FALSE(expected.rms_limit[Output::O]);
  CHECK(expected.tolerance[Output::O][0] < 1e-12);
}

TEST_CASE("NaN may reach the tile it is multiplied in, and no further") {
  // Causal, 6 x 6, tiles of 2 x 3: V's NaN in key 4 is seen by rows 4 and 5, which share tile
  // (2, 1) alone; key 4 shares it with keys 3 and 5.
  const ProblemSpec spec = parse_problem("nq=6 d=2 causal plant=nan-v");
  const Data data(spec, 1);
  const auto reach = nan_reach(spec.problem, data.inputs(), data.cotangents(), {2, 3});
  for (std::size_t row = 0; row < 6; ++row) CHECK(bool(reach[Output::O][row * 2]) == (row >= 4));
  // Row 5's Δ is NaN: it sees keys 0 … 2, too, whose tile (2, 0) then holds NaN.
  for (std::size_t key = 0; key < 6; ++key) CHECK(bool(reach[Output::dK][key * 2]));
  for (std::size_t row = 0; row < 6; ++row) CHECK(bool(reach[Output::dQ][row * 2]) == (row >= 4));

  // Tiles of 3 x 6.
  const auto wide = nan_reach(spec.problem, data.inputs(), data.cotangents(), {3, 6});
  for (std::size_t row = 0; row < 6; ++row)
    CHECK(bool(wide[Output::O][row * 2]) == (row >= 3));  // row 3 shares a tile with row 4
}
