#pragma once

#include "cuda/isa/isa.cuh"
#include "cuda/rules/softmax.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int rows_of_block = 128;

/// y [rows]: the sums of the rows of x [rows, columns].
FLASHBOOK_KERNEL(128)
row_sums(gmem<const float> x, gmem<float> y, int rows, int columns) {
  const int row = blockIdx.x * rows_of_block + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum += x(row * columns + c);
  y(row) = sum;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
