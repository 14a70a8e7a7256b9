// What kernels are given: views of the tensors and the sizes, made of a problem by their launchers.
#pragma once

#include <cstdint>

#include "cuda/rules/kernel.hpp"
#include "cuda/rules/visible.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// One head of a tensor: rows of contiguous elements.
template <class T>
struct Matrix {
  gmem<T> data;
  int64_t stride;  ///< from a row to the next, in elements
  int columns;
  bool in_chunks;  ///< every row is whole chunks of 16 bytes, aligned to 16

  FLASHBOOK_DEVICE gmem<T> row(int i) const { return data + i * stride; }
  /// Without the columns before `column`.
  FLASHBOOK_DEVICE Matrix from_column(int column) const {
    return {data + column, stride, columns - column, in_chunks && column * sizeof(T) % 16 == 0};
  }
};

/// A tensor [B, N, H, d] with any strides, its last dimension contiguous.
template <class T>
struct Tensor {
  gmem<T> data;
  int64_t batch, token, head;  ///< strides, in elements
  int channels;
  bool in_chunks;

  FLASHBOOK_DEVICE Matrix<T> of(int b, int h) const {
    return {data + (b * batch + h * head), token, channels, in_chunks};
  }
  /// Where a row begins, in elements, and the rows of its head from there on.
  FLASHBOOK_DEVICE int64_t offset(int b, int h, int row) const {
    return b * batch + h * head + row * token;
  }
  FLASHBOOK_DEVICE Matrix<T> at(int64_t offset) const {
    return {data + offset, token, channels, in_chunks};
  }
};

/// Sizes and options that both passes read.
struct Sizes {
  int batch, heads_q, heads_kv;  ///< B, H_q, H_kv
  int d, d_v;
  float scale;
  Visible visible;

  FLASHBOOK_HOST_DEVICE int n_q() const { return visible.n_q; }
  FLASHBOOK_HOST_DEVICE int n_k() const { return visible.n_k; }
  /// Query heads that share a head of K and V.
  FLASHBOOK_HOST_DEVICE int group() const { return heads_q / heads_kv; }
  /// Where the LSE of row 0 of a head lies in [B, H_q, N_q].
  FLASHBOOK_HOST_DEVICE int64_t lse_row(int b, int h) const {
    return (int64_t{b} * heads_q + h) * visible.n_q;
  }
};

template <class T>
struct ForwardParameters {
  Sizes sizes;
  Tensor<const T> Q, K, V;
  Tensor<T> O;
  gmem<float> lse;
};

template <class T>
struct BackwardParameters {
  Sizes sizes;
  Tensor<const T> Q, K, V, O, dO;
  gmem<const float> lse, dlse;
  bool has_dlse;  ///< if not, dlse has no element
  Tensor<T> dQ, dK, dV;
};

}  // namespace flashbook::FLASHBOOK_MACHINE
