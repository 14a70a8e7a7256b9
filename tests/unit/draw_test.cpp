// What `draw` finds out by running a product agrees with what PTX ISA says of mma m16n8k16.
#include "walkthrough/draw/fragments.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace flashbook::draw {
namespace {

/// PTX ISA, "Matrix Fragments for mma.m16n8k16": the column of a lane's n-th number of a row of 16
/// of A, or of B's columns.
int column_of(int lane, int n) {
  return lane % 4 * 2 + n % 2 + (n >= 4 ? 8 : 0);
}

}  // namespace

TEST_CASE("draw: the fragments are those of the manual") {
  const Product product = run_product();
  for (int lane = 0; lane < 32; ++lane)
    for (int n = 0; n < 8; ++n) {
      CAPTURE(lane);
      CAPTURE(n);
      const int half = n / 2 % 2 * 8;  // A: rows + 8 come second; D: too, in each result
      const Place& a = product.A.at(lane / 4 + half, column_of(lane, n));
      CHECK((a.lane == lane && a.number == n));
      const Place& b = product.B.at(lane / 4 + n / 4 * 8, lane % 4 * 2 + n % 2 + half);
      CHECK((b.lane == lane && b.number == n));
      const Place& d = product.D.at(lane / 4 + half, lane % 4 * 2 + n % 2 + n / 4 * 8);
      CHECK((d.lane == lane && d.number == n));
    }
}

TEST_CASE("draw: a result is the next left operand, number by number") {
  Product product = run_product();
  CHECK(product.shared_with_A() == 256);
  for (int n = 0; n < 8; ++n) CHECK(product.number_of_D(n) == n);
  std::swap(product.D.places[0], product.D.places[2]);  // lanes 0 and 1
  CHECK(product.shared_with_A() == 254);
  std::swap(product.D.places[4], product.D.places[5]);  // numbers 0 and 1 of lane 2
  CHECK(product.number_of_D(0) == -1);
}

TEST_CASE("draw: padded and swizzled rows have a column of chunks in all banks") {
  const std::vector<Layout> layouts = run_layouts();
  REQUIRE(layouts.size() == 3);
  for (const Layout& layout : layouts) {
    CAPTURE(layout.name);
    const bool is_plain = layout.name == "plain";
    CHECK(layout.wavefronts == (is_plain ? 8 : 1));
    for (std::size_t g = 0; g < 8; ++g) {
      std::array<int, 8> column;
      for (std::size_t row = 0; row < 8; ++row) column[row] = layout.banks[row][g];
      std::sort(column.begin(), column.end());
      CHECK((std::unique(column.begin(), column.end()) == column.end()) == !is_plain);
    }
  }
}

}  // namespace flashbook::draw
