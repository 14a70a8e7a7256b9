// Launching a kernel. `stream` is a cudaStream_t on a GPU; on the emulator a simt::Stream*, which
// says how to run the kernel and collects what is found. Null is the default on both.
#pragma once

#include <cstdint>

#include "cuda/isa/launch_types.hpp"
#include "cuda/isa/machine.cuh"

#ifdef __CUDACC__

#include <cuda_runtime.h>

namespace flashbook::gpu {

namespace detail {

inline std::string shape_text(const LaunchShape& s) {
  const auto triple = [](const GridShape& g) {
    return std::to_string(g.x) + " x " + std::to_string(g.y) + " x " + std::to_string(g.z);
  };
  return triple(s.grid) + " blocks of " + triple(s.block) + " threads with " +
         std::to_string(s.shared_bytes) + " bytes of shared memory";
}

/// The status for an error of the runtime, which it forgets.
inline LaunchStatus status_of(cudaError_t error, const LaunchShape& shape) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  const std::string name = std::string("kernel ") + shape.kernel;
  if (error == cudaErrorNoKernelImageForDevice) {
    int device = 0, major = 0, minor = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    return {name + " was not compiled for this device, sm_" + std::to_string(major * 10 + minor)};
  }
  return {name + ": " + cudaGetErrorString(error) + " (" + shape_text(shape) + ")"};
}

}  // namespace detail

/// Starts kernel(arguments...) on the stream. The status tells of the start; what goes wrong later,
/// `synchronize` tells.
template <class... Parameters, class... Arguments>
LaunchStatus launch(const LaunchShape& shape, void* stream, void (*kernel)(Parameters...),
                    const Arguments&... arguments) {
  constexpr std::size_t without_asking = 48 * 1024;  // CUDA C++ Programming Guide, "Shared Memory"
  if (shape.shared_bytes > without_asking) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess) return detail::status_of(error, shape);
  }
  const auto dim = [](const GridShape& g) { return dim3(g.x, g.y, g.z); };
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {shape.cluster, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim(shape.grid);
  config.blockDim = dim(shape.block);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &cluster;
  config.numAttrs = shape.cluster > 1 ? 1 : 0;
  return detail::status_of(
      cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), shape);
}

/// Bytes of shared memory that a block may have on the current device; of no device, no limit.
inline std::size_t most_shared_bytes(void* = nullptr) {
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
          cudaSuccess)
    return static_cast<std::size_t>(bytes);
  cudaGetLastError();
  return SIZE_MAX;
}

/// Multiprocessors of the current device; 1 without a device.
inline int multiprocessors() {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess)
    return count;
  cudaGetLastError();
  return 1;
}

/// The current device's compute capability, 90 for sm_90; 0 without a device.
inline int compute_capability() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess)
    return major * 10 + minor;
  cudaGetLastError();
  return 0;
}

/// Waits until everything on the stream is done.
inline LaunchStatus synchronize(void* stream) {
  const cudaError_t error = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  return {error == cudaSuccess ? "" : cudaGetErrorString(error)};
}

}  // namespace flashbook::gpu

#else

#include "sim/simt/launch.hpp"

namespace flashbook::emulated {

namespace detail {

inline LaunchStatus status_of(const simt::Report& report) {
  if (report.clean()) return {};
  const std::size_t others = report.findings.size() - 1;
  return {report.findings.front().text() +
          (others ? "and " + std::to_string(others) + " other findings" : "")};
}

inline simt::Dim3 dim(const GridShape& g) {
  return {g.x, g.y, g.z};
}

}  // namespace detail

/// Runs kernel(arguments...) to its end. The status is the first thing found, if there is one.
template <class... Parameters, class... Arguments>
LaunchStatus launch(const LaunchShape& shape, void* stream, void (*kernel)(Parameters...),
                    const Arguments&... arguments) {
  simt::Stream unheard;
  simt::Stream& heard = stream ? *static_cast<simt::Stream*>(stream) : unheard;
  simt::Report report =
      simt::launch({shape.kernel, detail::dim(shape.grid), detail::dim(shape.block),
                    shape.shared_bytes, shape.float_atomics, shape.cluster},
                   heard.options, [&] { kernel(arguments...); });
  LaunchStatus status = detail::status_of(report);
  heard.report.add(std::move(report));
  return status;
}

inline std::size_t most_shared_bytes(void* stream = nullptr) {
  return stream ? static_cast<simt::Stream*>(stream)->options.shared_bytes : simt::max_shared_bytes;
}

/// Few, so that a block that stays for many tiles of work has several of a small problem.
inline int multiprocessors() {
  return 2;
}

inline int compute_capability() {
  return 90;
}

inline LaunchStatus synchronize(void*) {
  return {};
}

}  // namespace flashbook::emulated

#endif
