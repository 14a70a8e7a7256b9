// The online softmax: states of rows, taken in, rescaled and merged.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/io/online_softmax.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

constexpr float infinity = -minus_infinity;

}  // namespace

TEST_CASE("online softmax: 3, then 5, then 10") {
  float m = -infinity, l = 0;
  Eigen::ArrayXf three(1), five(1), ten(1);
  three << 3;
  five << 5;
  ten << 10;
  CHECK(absorb(three, m, l) == 0);
  CHECK(l == 1);
  const float first = absorb(five, m, l);
  CHECK(first == doctest::Approx(0.135).epsilon(0.01));
  const float second = absorb(ten, m, l);
  CHECK(first * second == doctest::Approx(0.0009).epsilon(0.02));
  CHECK(m == 10);
  CHECK(l == doctest::Approx(std::exp(-7.) + std::exp(-5.) + 1));
  CHECK(ten(0) == 1);
}

TEST_CASE("online softmax: no scores change nothing") {
  float m = 2, l = 3;
  Eigen::ArrayXf none(0);
  CHECK(absorb(none, m, l) == 1);
  CHECK(m == 2);
  CHECK(l == 3);
}

TEST_CASE("a row of −∞ scores stays empty; NaN and +∞ make it NaN") {
  Eigen::ArrayXf hidden(40);  // long enough for the vectorised exp
  hidden.setConstant(-infinity);
  SoftmaxState state;
  CHECK(absorb(hidden, state.m, state.l) == 0);
  CHECK(state.m == -infinity);
  CHECK(state.l == 0);
  CHECK(state.lse() == -infinity);
  CHECK((hidden == 0).all());
  for (const float bad : {std::nanf(""), infinity})
    for (const Eigen::Index where : {0, 20, 39}) {
      Eigen::ArrayXf scores = Eigen::ArrayXf::LinSpaced(40, -3, 3);
      scores(where) = bad;
      SoftmaxState poisoned;
      absorb(scores, poisoned.m, poisoned.l);
      CHECK(std::isnan(poisoned.lse()));
      CHECK(std::isnan(scores(where)));
    }
}

TEST_CASE("rows whose every logit is far below zero are ordinary rows") {
  Eigen::ArrayXf scores(2);
  scores << -2e30f, -2e30f;
  SoftmaxState state;
  absorb(scores, state.m, state.l);
  CHECK(state.l == 2);
  CHECK(scores(0) == 1);
}

TEST_CASE("merge: the empty state is its identity, and it is associative and commutative") {
  const SoftmaxState a = {1.5f, 2.f}, b = {-3.f, 4.f}, c = {7.f, 0.5f}, empty;
  const Merged same = merge(a, empty);
  CHECK(same.state.m == a.m);
  CHECK(same.state.l == a.l);
  CHECK(same.weight_a == 1);
  CHECK(same.weight_b == 0);
  CHECK(merge(empty, empty).state.l == 0);
  CHECK(merge(empty, empty).state.lse() == -infinity);
  CHECK(merge(a, b).state.l == merge(b, a).state.l);
  CHECK(merge(a, a).state.l == 4);
  const SoftmaxState left = merge(merge(a, b).state, c).state;
  const SoftmaxState right = merge(a, merge(b, c).state).state;
  CHECK(left.m == right.m);
  CHECK(left.l == doctest::Approx(right.l));
  CHECK(left.lse() ==
        doctest::Approx(std::log(2 * std::exp(1.5) + 4 * std::exp(-3.) + 0.5 * std::exp(7.))));
}

TEST_CASE("a sink is a key of weight one without a value") {
  CHECK(state_of_part(2).lse() == 2);
  CHECK(state_of_part(-infinity).l == 0);
  CHECK(sink_weight(-infinity, -infinity) == 0);
}
