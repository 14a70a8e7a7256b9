#include "sim/io/partial_dq.hpp"

namespace flashbook::io {

Range PartialDq::visits(const QueryTile& tile) const {
  return key_tiles_of(problem_, tile, blocks_.columns);
}

bool PartialDq::is_first(const QueryTile& tile, Range keys) const {
  return keys.first / blocks_.columns == visits(tile).first;
}

void PartialDq::clear(Sram& sram, const QueryTile& tile) const {
  const Tile sum = zeros(sram, tile);
  sram.show("dQ = 0", sum);
  sram.store(sum, visits(tile).empty() ? dq_ : workspace_, region(tile));
}

Tile PartialDq::load(Sram& sram, const QueryTile& tile) const {
  return sram.load(workspace_, region(tile));
}

Tile PartialDq::zeros(Sram& sram, const QueryTile& tile) const {
  Tile sum = sram.allocate("dQ", tile.rows.size(), problem_->d);
  sum.setZero();
  return sum;
}

void PartialDq::store(Sram& sram, Tile& sum, const QueryTile& tile, Range keys) const {
  const bool is_last = keys.first / blocks_.columns == visits(tile).last - 1;
  if (is_last) sum *= static_cast<float>(problem_->scale);
  sram.show(is_last ? "dQ = scale · Σ dS K" : "dQ, so far", sum);
  sram.store(sum, is_last ? dq_ : workspace_, region(tile));
}

}  // namespace flashbook::io
