// The GPU's side of machine.hpp.
#include <cuda_runtime_api.h>

#include "cpu_reference/error.hpp"
#include "cuda/api/gpu_device.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {
namespace {

// cp.async, ldmatrix of 16-bit types and mma m16n8k16: PTX ISA, "Target ISA Notes" of each.
constexpr int needed_capability = 80;

/// Without a driver the runtime says that the driver is too old.
std::string reason_of(cudaError_t error) {
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      driver == 0)
    return "no CUDA driver is installed";
  return cudaGetErrorString(error);
}

}  // namespace

std::span<const KernelPair> gpu_pairs() {
  using namespace gpu;
  static const KernelPair pairs[] = {
      {"standard", &standard_forward, &standard_backward},
      {"fa1", &fa1_forward, &three_kernel_backward},
      {"one_pass", &one_pass_forward, &three_kernel_backward},
      {"tensor_core", &tensor_core_forward, &three_kernel_backward},
      {"deferred_normalisation", &deferred_normalisation_forward, &three_kernel_backward},
      {"exp2", &exp2_forward, &three_kernel_backward},
      {"unmasked_tiles", &unmasked_tiles_forward, &three_kernel_backward},
      {"double_buffering", &double_buffering_forward, &three_kernel_backward},
      {"swizzle", &swizzle_forward, &three_kernel_backward},
      {"q_in_registers", &q_in_registers_forward, &three_kernel_backward},
      {"tile_shapes", &tile_shapes_forward, &three_kernel_backward},
      {"lazy_rescale", &lazy_rescale_forward, &three_kernel_backward},
      {"ping_pong", &ping_pong_forward, &three_kernel_backward},
  };
  return pairs;
}

Gpu find_gpu() {
  Gpu found;
  int device = 0;
  cudaDeviceProp properties = {};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) {
    cudaGetLastError();
    found.missing = "there is no GPU here (" + reason_of(error) +
                    "): run on the emulator (--on cpu), or where there is one";
    return found;
  }
  found.name = properties.name;
  found.capability = 10 * properties.major + properties.minor;
  if (found.capability < needed_capability)
    found.missing = "the kernels need sm_" + std::to_string(needed_capability) + "; this device, " +
                    found.name + ", is sm_" + std::to_string(found.capability) +
                    ": run on the emulator (--on cpu), or on a newer GPU";
  return found;
}

std::unique_ptr<Device> gpu_device() {
  if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) throw InputError(gpu.missing);
  return std::make_unique<GpuDevice>();
}

}  // namespace flashbook
