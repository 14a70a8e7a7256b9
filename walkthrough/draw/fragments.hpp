// Which lane of a warp holds which element of an mma's matrices, and in which banks of shared
// memory the rows of a tile lie: found by running them on the emulator.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/simt/report.hpp"

namespace flashbook::draw {

/// Where an element is: in which lane, and there the n-th number of that matrix. Of A and B a
/// register has two numbers.
struct Place {
  int lane = -1, number = -1;
};

/// The places of a matrix's elements.
struct Fragment {
  int rows, columns;
  std::vector<Place> places;  ///< row by row

  const Place& at(int row, int column) const {
    const int place = row * columns + column;
    return places[static_cast<std::size_t>(place)];
  }
};

/// Of A [16, 16], B^T [16, 16] and D = A B^T [16, 16], two mma m16n8k16 side by side.
struct Product {
  Fragment A, B, D;

  /// Elements that the same lane holds of D as it would of A, were D the next left operand.
  int shared_with_A() const;
  /// The number of D that is the same element as a lane's n-th of A; -1 if that depends on the
  /// lane.
  int number_of_D(int n) const;
};

/// Runs the product twice: with operands whose elements are all different, and with operands whose
/// product's are.
Product run_product();

/// How a tile keeps 8 rows of 64 numbers of 16 bits: banks[row][g] is the chunk of 16 bytes that
/// lies in the banks 4 g to 4 g + 3.
struct Layout {
  std::string name;
  std::array<std::array<int, 8>, 8> banks;
  std::uint64_t wavefronts;  ///< of the ldmatrix that reads the first chunk of each row
};

/// Plain, padded and swizzled rows.
std::vector<Layout> run_layouts();

}  // namespace flashbook::draw
