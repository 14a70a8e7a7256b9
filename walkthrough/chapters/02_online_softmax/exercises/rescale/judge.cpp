#include <limits>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace {

using flashbook::book::Judge;
using Tile = std::vector<double>;

constexpr double hidden = -std::numeric_limits<double>::infinity();

/// Σ_j P_j v_j over all tiles at once; keys have the values 1, 2, 3, …
double direct(const std::vector<Tile>& tiles) {
  double m = hidden, l = 0, o = 0, value = 0;
  for (const Tile& tile : tiles)
    for (const double s : tile) m = std::max(m, s);
  for (const Tile& tile : tiles)
    for (const double s : tile) {
      const double weight = s == hidden ? 0 : std::exp(s - m);
      l += weight;
      o += weight * ++value;
    }
  return o / l;
}

double tile_by_tile(const std::vector<Tile>& tiles) {
  Row row;
  double value = 0;
  for (const Tile& tile : tiles) {
    Tile values;
    for (std::size_t j = 0; j < tile.size(); ++j) values.push_back(++value);
    take_in(row, tile, values);
  }
  return row.o / row.l;
}

void compare(Judge& judge, const std::string& what, const std::vector<Tile>& tiles) {
  judge.close("o/ℓ of " + what, tile_by_tile(tiles), direct(tiles), 1e-12);
}

/// (−∞, 0, 0), which a merge leaves as it is. A finite start shows here, however low it is.
void no_key(Judge& judge) {
  Row row;
  take_in(row, {hidden, hidden}, {1, 2});
  judge.close("m of {hidden, hidden}, a row without a key,", row.m, hidden, 0);
  judge.close("ℓ of {hidden, hidden}", row.l, 0, 0);
  judge.close("o of {hidden, hidden}", row.o, 0, 0);
}

}  // namespace

int main() {
  Judge judge;
  compare(judge, "{3, 5}, {4, 2}, m known at once", {{3, 5}, {4, 2}});
  compare(judge, "{3, 5}, {10, 2}, m rises to 10", {{3, 5}, {10, 2}});
  compare(judge, "{1}, {2}, {3}, m rises twice", {{1}, {2}, {3}});
  compare(judge, "{-20000, -20001}, {-20001}", {{-20000, -20001}, {-20001}});
  compare(judge, "{-1e308}, {-1e308}, lower than most starts", {{-1e308}, {-1e308}});
  compare(judge, "{-9000}, {9000}", {{-9000}, {9000}});
  compare(judge, "{hidden, hidden}, {3, 5}", {{hidden, hidden}, {3, 5}});
  compare(judge, "{3, hidden}, {hidden, hidden}, {4}", {{3, hidden}, {hidden, hidden}, {4}});
  no_key(judge);
  return judge.verdict();
}
