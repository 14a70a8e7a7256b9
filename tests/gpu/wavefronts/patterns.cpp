#include "tests/gpu/wavefronts/patterns.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <utility>

namespace flashbook::wavefronts {
namespace {

/// The place of a lane, in units of what it accesses; negative: none.
using Place = std::function<int(int lane)>;
using Places = std::vector<std::pair<std::string, Place>>;

Place only(std::uint32_t mask, Place place) {
  return [mask, place = std::move(place)](int l) { return mask >> l & 1 ? place(l) : -1; };
}

int own(int l) {
  return l;
}
int pairs_1(int l) {
  return l / 2;
}
int pairs_2(int l) {
  return l / 4 * 2 + l % 2;
}
int pairs_4(int l) {
  return l / 8 * 4 + l % 4;
}

Places broadcasts() {
  return {
      {"a place for each lane", own},
      {"one for all", [](int) { return 0; }},
      {"one for each half", [](int l) { return l / 16; }},
      {"one for each quarter", [](int l) { return l / 8; }},
      {"one for four lanes", [](int l) { return l / 4; }},
      {"lanes l, l ^ 1 the same", pairs_1},
      {"lanes l, l ^ 2 the same", pairs_2},
      {"lanes l, l ^ 4 the same", pairs_4},
      {"lanes l, l ^ 8 the same", [](int l) { return l / 16 * 8 + l % 8; }},
      {"lanes l, l ^ 16 the same", [](int l) { return l % 16; }},
      {"lower half in pairs", [](int l) { return l < 16 ? l / 2 : l; }},
      {"lower quarter in pairs", [](int l) { return l < 8 ? l / 2 : l; }},
      {"l ^ 1 below, l ^ 2 above", [](int l) { return l < 16 ? pairs_1(l) : pairs_2(l); }},
      {"quarters by l ^ 1 and l ^ 2", [](int l) { return l % 16 < 8 ? pairs_1(l) : pairs_2(l); }},
  };
}

/// `row`: as many units as lie in all banks once.
Places conflicts(int row) {
  return {
      {"every second place", [](int l) { return 2 * l; }},
      {"every fourth place", [](int l) { return 4 * l; }},
      {"rows", [=](int l) { return row * l; }},
      {"rows and a place", [=](int l) { return (row + 1) * l; }},
      {"a row for each half", [=](int l) { return row * (l / 16); }},
      {"a row and a place for each half", [=](int l) { return (row + 1) * (l / 16); }},
      {"rows, l ^ 1 the same", [=](int l) { return row * (l / 2); }},
      {"rows, l ^ 2 the same", [=](int l) { return row * pairs_2(l); }},
      {"every second place, l ^ 1 the same", [](int l) { return 2 * (l / 2); }},
      {"every second row, l ^ 1 the same", [=](int l) { return row * (l / 2 % 2) + l / 4; }},
  };
}

Places inactive_lanes() {
  return {
      {"lane 5 alone", only(1u << 5, own)},
      {"even lanes", only(0x55555555, own)},
      {"odd lanes", only(0xaaaaaaaa, own)},
      {"lanes 0, 1 of four", only(0x33333333, own)},
      {"lane 0 of four", only(0x11111111, own)},
      {"lane 0 of four, one place", only(0x11111111, [](int) { return 0; })},
      {"the lower half", only(0x0000ffff, own)},
      {"the upper half", only(0xffff0000, own)},
      {"quarters 0 and 2", only(0x00ff00ff, own)},
      {"quarters 0 and 3", only(0xff0000ff, own)},
      {"all but lane 0", only(~1u, own)},
      {"all but lane 0, l ^ 1 the same", only(~1u, pairs_1)},
      {"even lanes and lane 1", only(0x55555557, own)},
      {"even lanes, rows", only(0x55555555, [](int l) { return 8 * l; })},
  };
}

/// Few places, many lanes inactive, so that pairs come about.
Place random_place(unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<int> place(32);
  const std::uint32_t range = 1u << draw() % 6, active = 1 + draw() % 4;
  const bool in_pairs = draw() % 2;
  for (auto& x : place) x = draw() % 4 < active ? static_cast<int>(draw() % range) : -1;
  if (in_pairs)
    for (unsigned l = 0; l < 32; ++l) place[l] = place[l & ~(seed % 2 + 1)];
  return [place](int l) { return place[static_cast<unsigned>(l)]; };
}

Places all_places(int row) {
  Places places = broadcasts();
  for (auto& more : {conflicts(row), inactive_lanes()})
    places.insert(places.end(), more.begin(), more.end());
  for (unsigned seed = 0; seed < 24; ++seed)
    places.emplace_back("random " + std::to_string(seed), random_place(seed));
  return places;
}

}  // namespace

std::vector<Pattern> patterns() {
  std::vector<Pattern> all;
  for (const bool is_write : {false, true})
    for (const int bytes : {4, 8, 16})
      for (const auto& [name, place] : all_places(128 / bytes)) {
        Pattern& pattern = all.emplace_back(Pattern{name, bytes, is_write, {}});
        for (int l = 0; l < 32; ++l) {
          const int unit = place(l);
          pattern.word[static_cast<unsigned>(l)] = unit < 0 ? -1 : unit * (bytes / 4);
        }
      }
  return all;
}

}  // namespace flashbook::wavefronts
