#pragma once

#include <algorithm>
#include <cstdint>

using Index = std::int64_t;

/// Rows of K that a causal FA2 pass loads for one head of N queries and N keys, in tiles of B_r
/// queries by B_c keys.
inline Index rows_of_k(Index N, Index B_r, Index B_c) {
  Index rows = 0;
  for (Index i = 0; i * B_r < N; ++i) {
    // Row tile i: without a mask its worker loads all keys. Which does it see?
    (void)B_c;
    rows += N;
  }
  return rows;
}
