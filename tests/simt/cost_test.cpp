#include <doctest/doctest.h>

#include <array>
#include <set>
#include <utility>

#include "cuda/isa/tile.cuh"
#include "cuda/isa/types.cuh"
#include "sim/simt/cost.hpp"

// What a warp's access costs, and that the swizzle of tiles costs no more than the ideal.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

/// The costs of a warp whose lane l accesses `bytes` at first + l * stride.
struct Strided {
  std::array<std::uint64_t, 32> address;
  simt::WarpAddresses access;

  Strided(std::uint64_t first, std::uint64_t stride, unsigned bytes, std::uint32_t mask = ~0u)
      : access{address.data(), mask, bytes} {
    for (std::uint64_t l = 0; l < 32; ++l) address[l] = first + l * stride;
  }
  unsigned sectors() const { return simt::sectors(access); }
  unsigned ideal_sectors() const { return simt::ideal_sectors(access); }
  unsigned wavefronts() const { return simt::wavefronts(access); }
  unsigned ideal_wavefronts() const { return simt::ideal_wavefronts(access); }
};

/// Whether XorSwizzle keeps each row's chunks in the row, and any 8 consecutive rows of a column of
/// chunks in all 32 banks.
template <int chunks>
bool swizzle_is_perfect() {
  bool perfect = true;
  for (int row = 0; row < 64; ++row) {
    std::set<int> of_row;
    for (int c = 0; c < chunks; ++c) of_row.insert(XorSwizzle::chunk<chunks>(row, c));
    perfect = perfect && of_row.size() == chunks && *of_row.begin() == 0 &&
              *of_row.rbegin() == chunks - 1;
    for (int c = 0; c < chunks; ++c) {
      std::set<int> places;
      for (int r = row; r < row + 8; ++r)
        places.insert((r * chunks + XorSwizzle::chunk<chunks>(r, c)) % 8);
      perfect = perfect && places.size() == 8;
    }
  }
  return perfect;
}

/// Whether tile.at(r, c, down, right) is tile.at(r + down, c + right), for all rows and chunks.
template <int columns, class Swizzle>
bool steps_arrive() {
  static Tile<half, 64, columns, Swizzle> tile;
  bool arrive = true;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < columns / 16 * 16; column += 8) {
      const int r = row % 8, c = column % 16;  // as a lane's; the rest is the step
      arrive = arrive &&
               tile.at(r, c, row - r, column - c).pointer().at == tile.at(row, column).pointer().at;
    }
  return arrive;
}

}  // namespace

TEST_CASE("a tile's steps arrive where rows and columns add up") {
  CHECK(steps_arrive<64, XorSwizzle>());
  CHECK(steps_arrive<128, XorSwizzle>());
  CHECK(steps_arrive<192, XorSwizzle>());
  CHECK(steps_arrive<256, XorSwizzle>());
  CHECK(steps_arrive<64 + 8, RowMajor>());
  CHECK(steps_arrive<96, RowMajor>());
}

TEST_CASE("a step out of a tile is out of bounds") {
  static Tile<half, 64, 64, XorSwizzle> tile;
  for (const auto& place : {tile.at(0, 0, 64, 0), tile.at(0, 8, 0, 64), tile.at(7, 0, -8, 0)})
    CHECK_FALSE(place.pointer().admits<uint4>());
}

TEST_CASE("sectors of global memory") {
  CHECK(Strided(0, 4, 4).sectors() == 4);
  CHECK(Strided(0, 4, 4).ideal_sectors() == 4);
  CHECK(Strided(16, 4, 4).sectors() == 5);
  CHECK(Strided(0, 8, 4).sectors() == 8);
  CHECK(Strided(0, 32, 4).sectors() == 32);
  CHECK(Strided(0, 0, 4).sectors() == 1);
  CHECK(Strided(0, 0, 4).ideal_sectors() == 1);  // a broadcast moves its bytes once
  CHECK(Strided(0, 0, 16).ideal_sectors() == 1);
  CHECK(Strided(16, 4, 4).ideal_sectors() == 4);
  CHECK(Strided(0, 16, 16).sectors() == 16);
  CHECK(Strided(0, 2, 2).sectors() == 2);
  CHECK(Strided(0, 4, 4, 0xff).sectors() == 1);
  Strided shuffled(0, 4, 4);
  std::swap(shuffled.address[0], shuffled.address[31]);
  CHECK(shuffled.sectors() == 4);
}

TEST_CASE("wavefronts of shared memory") {
  CHECK(Strided(0, 4, 4).wavefronts() == 1);
  CHECK(Strided(0, 8, 4).wavefronts() == 2);
  CHECK(Strided(0, 128, 4).wavefronts() == 32);
  CHECK(Strided(0, 132, 4).wavefronts() == 1);  // padded by a word
  CHECK(Strided(0, 0, 4).wavefronts() == 1);    // broadcast
  CHECK(Strided(0, 2, 2).wavefronts() == 1);    // two lanes a word
  CHECK(Strided(0, 16, 16).wavefronts() == 4);
  CHECK(Strided(0, 16, 16).ideal_wavefronts() == 4);
  CHECK(Strided(0, 128, 16).wavefronts() == 32);
  CHECK(Strided(0, 144, 16).wavefronts() == 4);
  CHECK(Strided(0, 8, 8).wavefronts() == 2);
  CHECK(Strided(0, 128, 4, 1).wavefronts() == 1);
}

TEST_CASE("groups of lanes that ask for the same in pairs share a wavefront") {
  const auto both = [](unsigned bytes, auto&& address_of, std::uint32_t mask = ~0u) {
    Strided warp(0, 0, bytes, mask);
    for (unsigned l = 0; l < 32; ++l) warp.address[l] = address_of(l);
    return std::pair(warp.wavefronts(), warp.ideal_wavefronts());
  };
  using Passes = std::pair<unsigned, unsigned>;
  // One address for all lanes, and one for each half of a warp: FMA tiles read rows of A so.
  CHECK(both(8, [](unsigned) { return 0u; }) == Passes(1, 1));
  CHECK(both(16, [](unsigned) { return 0u; }) == Passes(2, 2));
  CHECK(both(16, [](unsigned l) { return l / 16 * 272; }) == Passes(2, 2));
  // Pairs of lanes at distance 1, and at distance 2.
  CHECK(both(8, [](unsigned l) { return l / 2 * 8; }) == Passes(1, 1));
  CHECK(both(16, [](unsigned l) { return l / 2 * 16; }) == Passes(2, 2));
  CHECK(both(16, [](unsigned l) { return (l / 4 * 2 + l % 2) * 16; }) == Passes(2, 2));
  // At distance 4 they do not.
  CHECK(both(8, [](unsigned l) { return (l / 8 * 4 + l % 4) * 8; }) == Passes(2, 2));
  CHECK(both(16, [](unsigned l) { return (l / 8 * 4 + l % 4) * 16; }) == Passes(4, 4));
  // Each half of a warp is on its own: the lower in pairs, the upper not.
  CHECK(both(16, [](unsigned l) { return l < 16 ? 0 : l * 16; }) == Passes(3, 3));
  // Where that would be a bank conflict, each group is on its own: two rows, a word in each bank.
  CHECK(both(16, [](unsigned l) { return l / 2 * 128; }) == Passes(16, 2));
  CHECK(both(8, [](unsigned l) { return l / 2 % 2 * 128 + l / 4 * 8; }) == Passes(4, 1));
  CHECK(both(16, [](unsigned l) { return l / 2 % 2 * 128 + l / 4 * 16; }) == Passes(8, 2));
  // An inactive lane has no partner that asks for something else.
  CHECK(both(
            8, [](unsigned l) { return l / 2 * 8; }, ~1u) == Passes(1, 1));
  // Of 16 bytes, though, lanes 1, 2 and 3 are compared as if they were 0, 1 and 2.
  CHECK(both(
            16, [](unsigned l) { return l / 2 * 16; }, ~1u) == Passes(3, 3));
  // One place for 16 lanes is one pass, for 17 two.
  CHECK(both(
            16, [](unsigned) { return 0u; }, 0x55555555u) == Passes(1, 1));
  CHECK(both(
            16, [](unsigned) { return 0u; }, 0x55555557u) == Passes(2, 2));
  CHECK(Strided(0, 16, 16, 0x55555555).ideal_wavefronts() == 2);
  CHECK(Strided(0, 16, 16, 0x55555555).wavefronts() == 4);  // lanes 0 and 8 in one bank
  CHECK(Strided(0, 16, 16, 0x00110011).wavefronts() == 2);
}

TEST_CASE("stores are served group by group, even where all go to one place") {
  std::array<std::uint64_t, 32> one_place = {};
  const auto passes = [&](unsigned bytes) {
    return simt::wavefronts({one_place.data(), ~0u, bytes, true});
  };
  CHECK(passes(4) == 1);
  CHECK(passes(8) == 2);
  CHECK(passes(16) == 4);
}

TEST_CASE("XorSwizzle has no conflicts, whatever the row's length") {
  CHECK(swizzle_is_perfect<1>());
  CHECK(swizzle_is_perfect<2>());
  CHECK(swizzle_is_perfect<3>());
  CHECK(swizzle_is_perfect<4>());  // d = 32 in 16 bits
  CHECK(swizzle_is_perfect<6>());
  CHECK(swizzle_is_perfect<8>());   // 64
  CHECK(swizzle_is_perfect<12>());  // 96
  CHECK(swizzle_is_perfect<16>());  // 128
  CHECK(swizzle_is_perfect<24>());  // 192
  CHECK(swizzle_is_perfect<32>());  // 256
}
