#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "cpu_reference/element_types.hpp"
#include "cpu_reference/problem.h"

namespace flashbook {

using Index = std::int64_t;

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

/// A strided tensor [batch, tokens, heads, channels], channels contiguous. T may be const.
template <class T>
class TensorView {
 public:
  TensorView(T* data, const flashbook_strides& strides, Index channels)
      : data_(data), strides_(strides), channels_(channels) {}

  Index channels() const { return channels_; }

  /// The channels of one token and head.
  T* row(Index batch, Index token, Index head) const {
    return data_ + batch * strides_.batch + token * strides_.token + head * strides_.head;
  }

 private:
  T* data_;
  flashbook_strides strides_;
  Index channels_;
};

/// The additive bias, [batch, head, query, key] broadcast: an axis of size 1 is read at 0.
template <class T>
class BiasView {
 public:
  BiasView(T* data, const flashbook_problem& problem, const std::int64_t (&strides)[4])
      : data_(data) {
    for (int axis = 0; axis < 4; ++axis)
      strides_[axis] = problem.bias_shape[axis] == 1 ? 0 : strides[axis];
  }

  /// query and key are storage coordinates: tokens of the tensors, not of a packed member.
  T& operator()(Index batch, Index head, Index query, Index key) const {
    return data_[batch * strides_[0] + head * strides_[1] + query * strides_[2] +
                 key * strides_[3]];
  }

 private:
  T* data_;
  std::int64_t strides_[4];
};

/// The gradient of the bias: contiguous in the bias's own shape.
template <class T>
BiasView<T> gradient_view(T* data, const flashbook_problem& problem) {
  std::int64_t strides[4], stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= problem.bias_shape[axis];
  }
  return BiasView<T>(data, problem, strides);
}

}  // namespace flashbook
