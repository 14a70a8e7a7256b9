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

}  // namespace

int main() {
  Judge judge;
  compare(judge, "the tiles {3, 5}, {4, 2}, whose maximum is known after the first",
          {{3, 5}, {4, 2}});
  compare(judge, "the tiles {3, 5}, {10, 2}, whose maximum rises from 5 to 10", {{3, 5}, {10, 2}});
  compare(judge, "the tiles {1}, {2}, {3}, whose maximum rises twice", {{1}, {2}, {3}});
  compare(judge, "the tiles {-20000, -20001}, {-20001}, all far below 0",
          {{-20000, -20001}, {-20001}});
  compare(judge, "the tiles {-9000}, {9000}", {{-9000}, {9000}});
  compare(judge, "a first tile that is hidden, then {3, 5}", {{hidden, hidden}, {3, 5}});
  compare(judge, "the tiles {3, hidden}, {hidden, hidden}, {4}",
          {{3, hidden}, {hidden, hidden}, {4}});
  return judge.verdict();
}
