#pragma once

/// The row of S[n][i], the same for every n: the second pair is 8 rows below the first.
constexpr int row_of(int lane, int i) {
  return lane / 4 + i / 2 * 8;
}

/// The column of S[n][i]: a pair is two neighbours, and 4 lanes share a row.
constexpr int column_of(int lane, int n, int i) {
  return n * 8 + lane % 4 * 2 + i % 2;
}
