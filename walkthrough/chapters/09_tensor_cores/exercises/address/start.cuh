#pragma once

/// The first element of a row of 8 in a tile of 16 x 16.
struct Place {
  int row, column;
};

/// The row whose address `lane` gives ldmatrix_x4 for A.
constexpr Place of_left(int lane) {
  return {lane / 2, lane % 2 * 8};
}

/// The row whose address `lane` gives ldmatrix_x4_trans for V.
constexpr Place of_V(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8};
}
