#pragma once

/// Elements of matrices, between HBM and SRAM.
struct Traffic {
  long reads, writes;
};

/// Tiles that n tokens make, the last of them perhaps short.
inline long tiles(long n, long B) {
  return (n + B - 1) / B;
}

/// K and V once. Each of the T_c key tiles has all N rows of Q and O pass by: read, and O written.
inline Traffic fa1(long N, long d, long /*B_r*/, long B_c) {
  const long T_c = tiles(N, B_c);
  return {2 * N * d + 2 * N * d * T_c, N * d * T_c};
}

/// Q and O once. Each of the T_r row tiles has all N rows of K and V pass by.
inline Traffic fa2(long N, long d, long B_r, long /*B_c*/) {
  const long T_r = tiles(N, B_r);
  return {N * d + 2 * N * d * T_r, N * d};
}
