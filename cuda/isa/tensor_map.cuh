// Tensor maps: what a copy of a box must know of a tensor in global memory. Made by a launcher,
// kept in a kernel's parameters, which are then a FLASHBOOK_GRID_CONSTANT.
#pragma once

#include "cuda/isa/launch_types.hpp"
#include "cuda/isa/memory.cuh"
#include "cuda/isa/tensor_shape.hpp"
#include "cuda/isa/types.cuh"

#ifdef __CUDACC__

#include <cuda.h>
#include <cuda_runtime.h>

namespace flashbook::gpu {

using TensorMap = CUtensorMap;

namespace detail {

template <class T>
constexpr CUtensorMapDataType tensor_type() {
  if constexpr (std::is_same_v<T, half>)
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  else
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

inline CUtensorMapSwizzle driver_swizzle(BoxSwizzle swizzle) {
  switch (swizzle) {
    case BoxSwizzle::bytes32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case BoxSwizzle::bytes64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case BoxSwizzle::bytes128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case BoxSwizzle::none:
      break;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

/// The driver's function, which nothing links: null where the driver has none.
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  constexpr unsigned since = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             since, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) function = nullptr;
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace detail

/// The map of a tensor whose element at the origin is tensor(0). What is loaded from outside of it
/// is zero; what is stored there is left out. T: half, bfloat16 or float.
template <class T>
LaunchStatus make_tensor_map(TensorMap& map, gmem<T> tensor, const TensorShape& shape) {
  using Element = std::remove_const_t<T>;
  auto* const data = const_cast<Element*>(tensor.data());
  if (std::string reason = refusal(shape, sizeof(T), reinterpret_cast<std::uintptr_t>(data));
      !reason.empty())
    return {reason};
  const auto encode = detail::tensor_map_encoder();
  if (!encode) return {"tensor maps need a driver for CUDA 12.0 or later"};
  cuuint64_t extent[4], stride[3];
  cuuint32_t box[4], step[4] = {1, 1, 1, 1};
  for (int d = 0; d < shape.rank; ++d) {
    extent[d] = static_cast<cuuint64_t>(shape.extent[d]);
    box[d] = static_cast<cuuint32_t>(shape.box[d]);
    if (d > 0) stride[d - 1] = static_cast<cuuint64_t>(shape.stride[d]) * sizeof(T);
  }
  const CUresult result = encode(
      &map, detail::tensor_type<Element>(), static_cast<cuuint32_t>(shape.rank), data, extent,
      stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, detail::driver_swizzle(shape.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    return {"the driver makes no tensor map: CUresult " + std::to_string(result)};
  return {};
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/tensor_map.hpp"

namespace flashbook::emulated {

using simt::TensorMap;

template <class T>
LaunchStatus make_tensor_map(TensorMap& map, const gmem<T>& tensor, const TensorShape& shape) {
  using Element = std::remove_const_t<T>;
  const auto& p = tensor.pointer();
  if (std::string reason = refusal(shape, sizeof(T), reinterpret_cast<std::uintptr_t>(p.at));
      !reason.empty())
    return {reason};
  const auto cast = [](T* q) { return const_cast<Element*>(q); };
  map.data = simt::bytes(simt::Pointer<Element>(cast(p.at), cast(p.begin), cast(p.end)));
  map.writable = !std::is_const_v<T>;
  map.element_bytes = sizeof(T);
  map.rank = static_cast<unsigned>(shape.rank);
  for (int d = 0; d < shape.rank; ++d) {
    map.extent[d] = shape.extent[d];
    map.stride[d] = shape.stride[d] * static_cast<std::int64_t>(sizeof(T));
    map.box[d] = shape.box[d];
  }
  map.swizzle = static_cast<unsigned>(shape.swizzle);
  return {};
}

}  // namespace flashbook::emulated

#endif
