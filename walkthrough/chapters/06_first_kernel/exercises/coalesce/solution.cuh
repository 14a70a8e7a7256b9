#pragma once

#include "cuda/isa/isa.cuh"
#include "cuda/rules/softmax.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int rows_of_block = 4;  // one a warp

/// y [rows]: the sums of the rows of x [rows, columns].
FLASHBOOK_KERNEL(128)
row_sums(gmem<const float> x, gmem<float> y, int rows, int columns) {
  const int row = blockIdx.x * rows_of_block + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;  // a whole warp does
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += x(row * columns + c);
  sum = lanes_sum<32>(sum);
  if (lane == 0) y(row) = sum;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
