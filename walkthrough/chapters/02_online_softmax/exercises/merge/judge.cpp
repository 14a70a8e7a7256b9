#include <limits>
#include <vector>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using flashbook::book::Judge;
using Scores = std::vector<double>;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr Part no_keys = {minus_infinity, 0, {0, 0}};

/// The state of a row whose j-th value is (1, s_j).
Part direct(const Scores& scores) {
  if (scores.empty()) return no_keys;
  Part part = {*std::max_element(scores.begin(), scores.end()), 0, {0, 0}};
  for (const double s : scores) {
    const double weight = std::exp(s - part.m);
    part.l += weight;
    part.o[0] += weight;
    part.o[1] += weight * s;
  }
  return part;
}

std::string text_of(const Scores& scores) {
  std::ostringstream text;
  for (const double s : scores) text << (text.tellp() > 0 ? ", " : "{") << s;
  text << (scores.empty() ? "{}" : "}");
  return text.str();
}

Scores joined(Scores a, const Scores& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void compare(Judge& judge, const std::string& what, const Part& got, const Part& expected) {
  constexpr double tolerance = 1e-12;
  judge.close("m of " + what, got.m, expected.m, tolerance);
  judge.close("ℓ of " + what, got.l, expected.l, tolerance);
  judge.close("o[0] of " + what, got.o[0], expected.o[0], tolerance);
  judge.close("o[1] of " + what, got.o[1], expected.o[1], tolerance);
}

void two_parts(Judge& judge, const Scores& a, const Scores& b) {
  const Part expected = direct(joined(a, b));
  compare(judge, text_of(a) + " merged with " + text_of(b), merge(direct(a), direct(b)), expected);
  compare(judge, text_of(b) + " merged with " + text_of(a), merge(direct(b), direct(a)), expected);
}

void three_parts(Judge& judge, const Scores& a, const Scores& b, const Scores& c) {
  const Part expected = direct(joined(joined(a, b), c));
  const std::string names = text_of(a) + ", " + text_of(b) + ", " + text_of(c);
  compare(judge, names + ", the first two first", merge(merge(direct(a), direct(b)), direct(c)),
          expected);
  compare(judge, names + ", the last two first", merge(direct(a), merge(direct(b), direct(c))),
          expected);
}

}  // namespace

int main() {
  Judge judge;
  two_parts(judge, {3, 5}, {10, 2});
  two_parts(judge, {1, 2}, {2, 0});
  two_parts(judge, {-3000, -3001}, {-3002});
  two_parts(judge, {8000}, {8001, 7000});
  two_parts(judge, {3, 5}, {});
  two_parts(judge, {}, {});
  three_parts(judge, {3}, {5}, {10, 2});
  three_parts(judge, {-900}, {}, {900});
  return judge.verdict();
}
