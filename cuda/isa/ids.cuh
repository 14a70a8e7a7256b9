// Who am I: threadIdx, blockIdx, blockDim, gridDim, with the meaning they have in CUDA.
#pragma once

#include "cuda/isa/machine.cuh"

#ifndef __CUDACC__

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::emulated {

/// Three numbers that are asked for when read, as CUDA's built-in variables are.
template <const simt::Dim3& (*of_thread)()>
struct BuiltIn {
  template <unsigned simt::Dim3::*member>
  struct Component {
    operator unsigned() const { return of_thread().*member; }
  };
  Component<&simt::Dim3::x> x;
  Component<&simt::Dim3::y> y;
  Component<&simt::Dim3::z> z;
};

namespace detail {
inline const simt::Dim3& thread_position() {
  return simt::this_thread->position;
}
inline const simt::Dim3& block_position() {
  return simt::sm->block();
}
inline const simt::Dim3& block_shape() {
  return simt::sm->shape().block;
}
inline const simt::Dim3& grid_shape() {
  return simt::sm->shape().grid;
}
}  // namespace detail

inline constexpr BuiltIn<detail::thread_position> threadIdx = {};
inline constexpr BuiltIn<detail::block_position> blockIdx = {};
inline constexpr BuiltIn<detail::block_shape> blockDim = {};
inline constexpr BuiltIn<detail::grid_shape> gridDim = {};

}  // namespace flashbook::emulated

#endif
