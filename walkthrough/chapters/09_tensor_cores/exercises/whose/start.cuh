#pragma once

/// The row of S[n][i], the same for every n.
constexpr int row_of(int lane, int i) {
  return lane / 4 + i % 2 * 8;
}

/// The column of S[n][i].
constexpr int column_of(int lane, int n, int i) {
  return n * 8 + lane % 4 + i / 2 * 4;
}
