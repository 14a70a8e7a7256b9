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

float in_order(const Example& row, const std::vector<std::size_t>& order) {
  Row collected(parts);
  for (const std::size_t index : order) collected.add(index, row.parts[index]);
  return collected.result();
}

std::string text_of(const std::vector<std::size_t>& order) {
  std::string text;
  for (const std::size_t index : order) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return text;
}

}  // namespace

int main() {
  Judge judge;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Example row = example(seed);
    std::vector<std::size_t> order(parts);
    std::iota(order.begin(), order.end(), 0);
    const float first = in_order(row, order);
    judge.close("the output of row " + std::to_string(seed), static_cast<double>(first), row.o,
                1e-6);
    while (std::next_permutation(order.begin(), order.end())) {
      const float again = in_order(row, order);
      std::ostringstream complaint;
      complaint << "parts in the order " << text_of(order) << " differ in bits from 0 to 5, by "
                << again - first;
      judge.require(again == first, complaint.str());
    }
  }
  return judge.verdict();
}
