// Kernels of chapter 9: a product of one warp that tells what each lane holds, and one row of
// matrices read by ldmatrix from tiles laid out in different ways.
#pragma once

#include "cuda/rules/mma.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fragments {

constexpr int threads = 32, numbers_of_lane = 24;

struct Smem {
  Tile<half, 16, 16> A, B;
};

/// The two numbers of each register.
template <int n>
FLASHBOOK_DEVICE void tell(gmem<float> to, const uint32_t (&registers)[n]) {
  for (int i = 0; i < n; ++i) {
    to(2 * i) = unpack_low<half>(registers[i]);
    to(2 * i + 1) = unpack_high<half>(registers[i]);
  }
}

// [hold]
/// D = A B^T, all 16 x 16, by one warp; held [32, 24]: a lane's numbers of A, of B and of D.
FLASHBOOK_KERNEL(threads) hold(gmem<const float> A, gmem<const float> B, gmem<float> held) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x;
  for (int i = lane; i < 16 * 16; i += threads) {
    smem.A(i / 16, i % 16) = from_float<half>(A(i));
    smem.B(i / 16, i % 16) = from_float<half>(B(i));
  }
  sync_warp();  // A and B are everybody's

  uint32_t a[4], b[4];
  mma::load_left(a, smem.A, 0, 0, 0);
  mma::load_K(b, smem.B, 0, 0);
  float D[2][4] = {};
  mma_m16n8k16<half>(D[0], a, b[0], b[1]);  // columns 0 to 7
  mma_m16n8k16<half>(D[1], a, b[2], b[3]);  // columns 8 to 15

  const gmem<float> mine = held + lane * numbers_of_lane;
  tell(mine, a);
  tell(mine + 8, b);
  for (int i = 0; i < 8; ++i) mine(16 + i) = D[i / 4][i % 4];
}
// [/hold]

/// 8 rows of 64 numbers of 16 bits, kept as Rows keeps them.
template <class Rows>
struct Column {
  Rows rows;
};

/// A warp reads by ldmatrix the 8 x 8 matrix of columns 8 chunk to 8 chunk + 7.
template <class Rows>
FLASHBOOK_KERNEL(threads)
read_column(gmem<float> out, int chunk) {
  Column<Rows>& smem = shared_memory<Column<Rows>>();
  const int lane = threadIdx.x;
  for (int i = lane; i < 8 * 64; i += threads)
    smem.rows(i / 64, i % 64) = from_float<half>(static_cast<float>(i));
  sync_warp();  // the rows are everybody's
  uint32_t registers[1];
  ldmatrix_x1(registers, smem.rows.at(lane % 8, chunk * 8));
  out(lane) = unpack_low<half>(registers[0]);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fragments
