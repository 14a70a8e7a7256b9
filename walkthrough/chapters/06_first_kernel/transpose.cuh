// The kernels of chapter 6: y = x^T, where x and y are [n, n] and n is a multiple of 32. A block of
// 4 warps transposes a tile of 32 x 32; the grid is one of tiles.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::transpose {

constexpr int side = 32, warps = 4, threads = warps * 32;

// [direct]
FLASHBOOK_KERNEL(threads) direct(gmem<const float> x, gmem<float> y, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int column = blockIdx.x * side + lane, first = blockIdx.y * side;
  for (int row = first + warp; row < first + side; row += warps) {
    const float value = x(row * n + column);
    y(column * n + row) = value;
  }
}
// [/direct]

// [tiled]
template <int columns>
struct Smem {
  Tile<float, side, columns> tile;
};

template <int columns>
FLASHBOOK_KERNEL(threads)
tiled(gmem<const float> x, gmem<float> y, int n) {
  Smem<columns>& smem = shared_memory<Smem<columns>>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int column = blockIdx.x * side, row = blockIdx.y * side;
  for (int i = warp; i < side; i += warps) {
    const float value = x((row + i) * n + column + lane);
    smem.tile(i, lane) = value;
  }
  sync_threads();  // the tile is whole
  for (int i = warp; i < side; i += warps) {
    const float value = smem.tile(lane, i);
    y((column + i) * n + row + lane) = value;
  }
}
// [/tiled]

}  // namespace flashbook::FLASHBOOK_MACHINE::transpose
