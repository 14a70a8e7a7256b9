// Matrices in shared memory. All of a kernel's shared memory is one struct of tiles:
//
//   struct Smem { Tile<half, 64, 64, XorSwizzle> Q, K, V; };
//   Smem& shared = shared_memory<Smem>();
#pragma once

#include <cstddef>

#include "cuda/isa/memory.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// Where a tile keeps the 16-byte chunk `chunk` of `row`: where it comes in reading order. Columns
/// of chunks then lie in few banks, unless rows are padded.
struct RowMajor {
  static constexpr int alignment = 16;
  template <int chunks_per_row>
  FLASHBOOK_HOST_DEVICE static constexpr int chunk(int, int chunk) {
    return chunk;
  }
  template <int chunks_per_row>
  FLASHBOOK_HOST_DEVICE static constexpr unsigned right(unsigned offset, unsigned columns) {
    return offset + columns;
  }
};

/// Exchanges the chunks of a row so that any 8 consecutive rows keep the same column of chunks in
/// all 32 banks: ldmatrix reads it without a conflict.
struct XorSwizzle {
  static constexpr int alignment = 128;
  template <int chunks_per_row>
  FLASHBOOK_HOST_DEVICE static constexpr int chunk(int row, int chunk) {
    // Rows of 128 bytes begin in bank 0: xor with the row. Of shorter rows, several share that, and
    // may share the number they are xored with.
    constexpr int columns = chunks_per_row % 8 == 0   ? 8
                            : chunks_per_row % 4 == 0 ? 4
                            : chunks_per_row % 2 == 0 ? 2
                                                      : 1;
    return chunk ^ (row / (8 / columns) % columns);
  }
  /// Of the chunk number the low three bits are exchanged, in rows of an odd multiple of 4 chunks
  /// the low two; the others are not.
  template <int chunks_per_row>
  FLASHBOOK_HOST_DEVICE static constexpr unsigned right(unsigned offset, unsigned columns) {
    constexpr unsigned exchanged = chunks_per_row % 8 == 0 ? 64 : 32;
    return (offset ^ columns % exchanged) + columns / exchanged * exchanged;
  }
};

/// What TMA and wgmma take: the tile is kept in blocks of 128 bytes of columns, one after the
/// other; in a block, chunk c of row r comes at place c ^ (r % 8) of the row. PTX ISA, "Tensors:
/// Swizzling Modes", 128-byte swizzle.
struct Swizzle128 {
  static constexpr int alignment = 1024;
};

/// rows x columns elements. tile(r, c) is an element, tile.at(r, c) its address, from which the
/// other elements of the same 16-byte chunk follow. tile.at(r, c, down, right) is that of
/// (r + down, c + right), where what depends on a lane is computed once for many steps.
template <class T, int rows, int columns, class Swizzle = RowMajor>
class alignas(Swizzle::alignment) Tile {
 public:
#ifdef __CUDACC__
  FLASHBOOK_DEVICE T& operator()(int row, int column) {
    return data_[offset(row, column)];
  }
  FLASHBOOK_DEVICE smem_ptr<T> at(int row, int column) {
    return smem_ptr<T>(data_ + offset(row, column));
  }
  /// down: a multiple of 8; right: a multiple of 16 columns of 16 bits; column: less than 16.
  FLASHBOOK_DEVICE smem_ptr<T> at(int row, int column, int down, int right) {
    return smem_ptr<T>(data_ + offset(row, column, down, right));
  }
#else
  detail::Reference<T, detail::Shared> operator()(int row, int column, Site site = Site::here()) {
    return {at(row, column).pointer(), site};
  }
  smem_ptr<T> at(int row, int column) {
    return pointer(holds(row, column) ? offset(row, column) : outside(row, column));
  }
  smem_ptr<T> at(int row, int column, int down, int right) {
    return pointer(holds(row + down, column + right) ? offset(row, column, down, right)
                                                     : outside(row + down, column + right));
  }
#endif

 private:
  static_assert(rows * columns * sizeof(T) % 16 == 0, "a tile is a whole number of 16-byte chunks");
  static_assert(!std::is_same_v<Swizzle, Swizzle128> ||
                (columns * sizeof(T) % 128 == 0 && rows % 8 == 0));
  static_assert(columns * sizeof(T) % 16 == 0 || rows == 1 || std::is_same_v<Swizzle, RowMajor>);

  FLASHBOOK_HOST_DEVICE static constexpr int offset(int row, int column) {
    constexpr int chunk = 16 / sizeof(T), chunks = columns / chunk;
    if constexpr (std::is_same_v<Swizzle, RowMajor>)
      return row * columns + column;
    else if constexpr (std::is_same_v<Swizzle, Swizzle128>)
      return ((column / chunk / 8 * rows + row) * 8 + (column / chunk % 8 ^ row % 8)) * chunk +
             column % chunk;
    else
      return row * columns + Swizzle::template chunk<chunks>(row, column / chunk) * chunk +
             column % chunk;
  }
  FLASHBOOK_HOST_DEVICE static constexpr unsigned offset(int row, int column, int down, int right) {
    static_assert(sizeof(T) == 2);
    static_assert(columns % 32 == 0 || std::is_same_v<Swizzle, RowMajor>);
    return Swizzle::template right<columns / 8>(static_cast<unsigned>(offset(row, column)),
                                                static_cast<unsigned>(right)) +
           static_cast<unsigned>(down * columns);
  }
  static constexpr bool holds(int row, int column) {
    return row >= 0 && row < rows && column >= 0 && column < columns;
  }
#ifndef __CUDACC__
  smem_ptr<T> pointer(std::ptrdiff_t offset) {
    const simt::Pointer<T> first(data_, data_, data_ + rows * columns);
    return smem_ptr<T>(first + offset);
  }
#endif
  /// Where the element would be, if that is outside of the tile; else an offset that is.
  static constexpr std::ptrdiff_t outside(std::ptrdiff_t row, std::ptrdiff_t column) {
    const std::ptrdiff_t size = rows * columns, at = row * columns + column;
    return at < 0 || at >= size ? at : size + at;
  }

  T data_[rows * columns];
};

#ifdef __CUDACC__

/// The block's shared memory as one struct. Its contents are undefined at first.
template <class T>
FLASHBOOK_DEVICE T& shared_memory() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  return *reinterpret_cast<T*>(dynamic_shared_memory);
}

#else

template <class T>
T& shared_memory(Site site = Site::here()) {
  static_assert(std::is_trivially_default_constructible_v<T>, "nobody constructs shared memory");
  return *reinterpret_cast<T*>(simt::shared_memory(sizeof(T), site));
}

#endif

}  // namespace flashbook::FLASHBOOK_MACHINE
