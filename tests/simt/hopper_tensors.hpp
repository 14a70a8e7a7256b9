#pragma once

#include <numeric>

#include "tests/simt/hopper_blocks.hpp"
#include "tests/simt/kernel_runs.hpp"

/// Tensors whose elements tell where they are from, and where a box of them lies.
namespace flashbook::emulated {

constexpr int box_elements = 2048;

struct BoxMemory {
  Tile<float, 1, box_elements> box;  // at the beginning, so aligned for every swizzle
  Mbarrier full;
};

/// Numbers 1, 2, 3 ... of a dense tensor, and its map.
struct Tensor {
  Tensor(const TensorShape& dense) : shape(dense) {
    std::int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d) {
      shape.stride[d] = n;
      n *= shape.extent[d];
    }
    size = n;
    memory = Numbers<float>(static_cast<std::size_t>(n));
    std::iota(memory.data(), memory.data() + n, 1.f);
    status = make_tensor_map(map, memory.view(), shape);
  }
  /// The element there, or 0 outside.
  float at(const int* i) {
    std::int64_t offset = 0;
    for (int d = 0; d < shape.rank; ++d) {
      if (i[d] < 0 || i[d] >= shape.extent[d]) return 0;
      offset += i[d] * shape.stride[d];
    }
    return memory[offset];
  }
  TensorShape shape;
  std::int64_t size;
  Numbers<float> memory{0};
  TensorMap map;
  LaunchStatus status;
};

/// Word of shared memory at which the element of a box lies: its place in reading order, with the
/// 16-byte chunks of 128 bytes exchanged as the PTX manual's tables show.
inline int word_of(const TensorShape& shape, const int* i) {
  int word = 0, size = 1;
  for (int d = 0; d < shape.rank; ++d) {
    word += i[d] * size;
    size *= shape.box[d];
  }
  const int row = word / 32, chunk = word % 32 / 4;
  int other = chunk;
  if (shape.swizzle == BoxSwizzle::bytes128) other = chunk ^ row % 8;
  if (shape.swizzle == BoxSwizzle::bytes64) other = chunk ^ row % 4;
  if (shape.swizzle == BoxSwizzle::bytes32) other = chunk ^ row % 2;
  return row * 32 + other * 4 + word % 4;
}

}  // namespace flashbook::emulated
