#include <numeric>
#include <random>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using flashbook::book::Judge;

constexpr std::size_t parts = 6, keys_of_a_part = 5;

/// Parts of a random row, and its output in double precision.
struct Example {
  std::vector<Part> parts;
  double o;
};

Example example(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Example row = {std::vector<Part>(parts), 0};
  double sum = 0, weighted = 0;
  for (Part& part : row.parts)
    for (std::size_t j = 0; j < keys_of_a_part; ++j) {
      const float s = 3 * normal(random), v = normal(random);
      part = merge(part, {s, 1, v});
      sum += std::exp(static_cast<double>(s));
      weighted += std::exp(static_cast<double>(s)) * static_cast<double>(v);
    }
  row.o = weighted / sum;
  return row;
}

/// Parts whose maxima tie and whose values cancel: no precision hides the order of additions. What
/// its output is depends on the order that an answer chose.
std::vector<Part> cancelling() {
  std::vector<Part> row;
  for (const float o : {1.f, 0x1p120f, 3.f, -0x1p120f, 5.f, 7.f}) row.push_back({0, 1, o});
  return row;
}

float in_order(const std::vector<Part>& row, const std::vector<std::size_t>& order) {
  Row collected(parts);
  for (const std::size_t index : order) collected.add(index, row[index]);
  return collected.result();
}

std::string text_of(const std::vector<std::size_t>& order) {
  std::string text;
  for (const std::size_t index : order) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return text;
}

/// Returns the output in the order 0 to 5.
float judge_orders(Judge& judge, const std::string& name, const std::vector<Part>& row) {
  std::vector<std::size_t> order(parts);
  std::iota(order.begin(), order.end(), 0);
  const float first = in_order(row, order);
  while (std::next_permutation(order.begin(), order.end())) {
    const float again = in_order(row, order);
    std::ostringstream complaint;
    complaint << name << ": parts in the order " << text_of(order)
              << " differ in bits from 0 to 5, by " << again - first;
    judge.require(again == first, complaint.str());
  }
  return first;
}

}  // namespace

int main() {
  Judge judge;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const std::string name = "row " + std::to_string(seed);
    const Example row = example(seed);
    const float o = judge_orders(judge, name, row.parts);
    judge.close("the output of " + name, static_cast<double>(o), row.o, 1e-6);
  }
  judge_orders(judge, "a row whose maxima tie and whose values cancel", cancelling());
  return judge.verdict();
}
