#pragma once

#include <cstdint>

#include "sim/simt/collective.hpp"

/// The matrix instructions of a warpgroup, whose 128 threads come to each. They execute in the wait
/// for their group; until then the accumulators are NaN. PTX ISA, "Asynchronous Warpgroup Level
/// Matrix Multiply-Accumulate Instructions".
namespace flashbook::simt {

struct WgmmaShape {
  unsigned n;  ///< columns of D: 8 to 256, a multiple of 8
  bool B_transposed;
  WgmmaType type;
};

/// What a thread says.
struct WgmmaArguments {
  float* d;                ///< n / 2 accumulators
  const std::uint32_t* a;  ///< 4 registers, or null: A is in shared memory
  WgmmaMatrix A, B;
  bool accumulate;
};

/// D[64, n] = A[64, 16] B[16, n], or += if `accumulate`. A is stored row by row, B column by
/// column, or row by row if transposed.
void wgmma(const WgmmaShape& shape, WgmmaArguments arguments, Site site);

/// Orders the threads' accesses to registers before the next wgmma.
void wgmma_fence(Site site);
void wgmma_commit(Site site);
/// Waits until at most the `newest` last groups are under way.
void wgmma_wait(unsigned newest, Site site);

}  // namespace flashbook::simt
