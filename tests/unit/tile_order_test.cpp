#include "cuda/rules/tile_order.cuh"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "cuda/rules/persistent.cuh"

// The order in which persistent blocks take tiles: every tile once, and under a causal mask about
// as many keys each.

namespace flashbook {
namespace {

using emulated::Divisor;
using emulated::most_tokens;
using emulated::Sizes;
using emulated::TileOrder;

TEST_CASE("a divisor divides") {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> number(0, INT32_MAX);
  std::vector<int> numbers = {0, 1, 2, 3, 7, 8, 9, 1 << 30, INT32_MAX - 1, INT32_MAX};
  for (int i = 0; i < 1000; ++i) numbers.push_back(number(random) >> i % 31);
  for (const int by : numbers) {
    if (by == 0) continue;
    const Divisor divisor(by);
    for (const int n : numbers) {
      if (divisor.quotient(n) == n / by) continue;
      CAPTURE(n);
      CAPTURE(by);
      CHECK(divisor.quotient(n) == n / by);
    }
  }
}

Sizes sizes_of_heads(int batch, int heads, int n, int d, bool causal) {
  return {batch, heads, heads, d, d, 1, {n, n, 0, most_tokens, causal ? 0 : most_tokens}};
}

/// What cluster `mine` takes, in its order.
std::vector<TileOrder::Place> places_of(const TileOrder& order, int mine, int clusters) {
  std::vector<TileOrder::Place> places;
  TileOrder::Place place = {};
  for (int round = 0; order.find(place, round, mine, clusters); ++round) places.push_back(place);
  return places;
}

TEST_CASE("every item of every head is taken once") {
  for (const bool sorted : {false, true})
    for (const int items : {1, 2, 5})
      for (const int heads : {1, 3, 8})
        for (int of_group = 1; of_group <= heads; ++of_group)
          for (const int clusters : {1, 2, 3, 7, 50}) {
            const TileOrder order(items, of_group, sorted,
                                  sizes_of_heads(1, heads, 64, 64, sorted));
            std::vector<int> taken(static_cast<std::size_t>(items * heads));
            for (int mine = 0; mine < clusters; ++mine)
              for (const auto& place : places_of(order, mine, clusters))
                ++taken.at(static_cast<std::size_t>(place.head * items + place.number));
            CHECK(std::count(taken.begin(), taken.end(), 1) == items * heads);
          }
}

/// The keys of the cluster that has most over the mean, in tiles of 128 rows and 128 keys, by
/// which a tile of rows also costs as much as three of keys.
double imbalance(int n, int d, int clusters) {
  const int heads = 2048 / d, items = n / 128;
  const Sizes sizes = sizes_of_heads(16384 / n, heads, n, d, true);
  const TileOrder order = emulated::order_of<emulated::half>(sizes, items, clusters);
  std::vector<double> costs;
  for (int mine = 0; mine < clusters; ++mine) {
    costs.push_back(0);
    for (const auto& place : places_of(order, mine, clusters)) costs.back() += place.number + 1 + 3;
  }
  const double sum = std::accumulate(costs.begin(), costs.end(), 0.);
  return *std::max_element(costs.begin(), costs.end()) * clusters / sum;
}

TEST_CASE("under a causal mask 132 blocks have about the same to do") {
  for (const int d : {64, 128, 256})
    for (int n = 512; n <= 16384; n *= 2) {
      CAPTURE(d);
      CAPTURE(n);
      CHECK(imbalance(n, d, 132) < 1.035);
    }
}

}  // namespace
}  // namespace flashbook
