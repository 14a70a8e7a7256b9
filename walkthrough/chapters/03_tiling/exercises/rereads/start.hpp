#pragma once

/// Elements of matrices, between HBM and SRAM.
struct Traffic {
  long reads, writes;
};

inline Traffic fa1(long N, long d, long B_r, long B_c) {
  // Each matrix once. Who comes again, and how often?
  return {3 * N * d, N * d};
}

inline Traffic fa2(long N, long d, long B_r, long B_c) {
  return {3 * N * d, N * d};
}
