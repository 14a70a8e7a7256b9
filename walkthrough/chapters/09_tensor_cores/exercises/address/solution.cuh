#pragma once

/// The first element of a row of 8 in a tile of 16 x 16.
struct Place {
  int row, column;
};

/// The row whose address `lane` gives ldmatrix_x4 for A: the matrices go down first, then right.
constexpr Place of_left(int lane) {
  return {lane % 16, lane / 16 * 8};
}

/// The row whose address `lane` gives ldmatrix_x4_trans for V. Rows of V are keys, and keys are
/// what goes down in b[0] and b[1], so the order is the same.
constexpr Place of_V(int lane) {
  return {lane % 16, lane / 16 * 8};
}
