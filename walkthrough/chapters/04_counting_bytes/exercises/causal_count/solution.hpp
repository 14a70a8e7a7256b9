#pragma once

#include <algorithm>
#include <cstdint>

using Index = std::int64_t;

/// Rows of K that a causal FA2 pass loads for one head of N queries and N keys, in tiles of B_r
/// queries by B_c keys.
inline Index rows_of_k(Index N, Index B_r, Index B_c) {
  Index rows = 0;
  for (Index i = 0; i * B_r < N; ++i) {
    // The last row of the tile sees most: as many keys as rows end with it.
    const Index seen = std::min((i + 1) * B_r, N);
    const Index tiles = (seen + B_c - 1) / B_c;
    rows += std::min(tiles * B_c, N);
  }
  return rows;
}
