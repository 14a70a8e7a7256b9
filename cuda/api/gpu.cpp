// The GPU's side of machine.hpp.
#include <cuda_runtime_api.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "cpu_reference/error.hpp"
#include "cuda/api/gpu_device.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {
namespace {

// cp.async, ldmatrix of 16-bit types and mma m16n8k16: PTX ISA, "Target ISA Notes" of each.
constexpr int needed_capability = 80;

/// The kernel module says its version; elsewhere the runtime knows the driver's CUDA.
std::string driver_version() {
  std::ifstream module("/proc/driver/nvidia/version");
  const std::string text((std::istreambuf_iterator<char>(module)), {});
  std::smatch version;
  if (std::regex_search(text, version, std::regex("[0-9]+\\.[0-9]+(\\.[0-9]+)?")))
    return version.str();
  int cuda = 0;
  cudaDriverGetVersion(&cuda);
  return "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

/// Without a driver the runtime says that the driver is too old.
std::string reason_of(cudaError_t error) {
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      driver == 0)
    return "no CUDA driver is installed";
  return cudaGetErrorString(error);
}

void require(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw InputError(what + ": " + reason_of(error));
}

/// The GPU whose memory holds the tensor.
int gpu_of(const NamedPointer& tensor) {
  cudaPointerAttributes found = {};
  require(cudaPointerGetAttributes(&found, tensor.data),
          std::string("asking where ") + tensor.name + " lies");
  if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged)
    throw InputError(std::string(tensor.name) +
                     " is not in GPU memory: pass what cudaMalloc or cudaMallocManaged gave");
  return found.device;
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
      {"fa2", &fa2_forward, &three_kernel_backward},
#ifdef FLASHBOOK_HAS_SM_90A
      {"tma_wgmma", &tma_wgmma_forward, &three_kernel_backward},
      {"warp_specialised", &warp_specialised_forward, &three_kernel_backward},
      {"gemm_softmax_overlap", &gemm_softmax_overlap_forward, &three_kernel_backward},
      {"warpgroup_ping_pong", &warpgroup_ping_pong_forward, &three_kernel_backward},
      {"wgmma_q_in_registers", &wgmma_q_in_registers_forward, &three_kernel_backward},
      {"no_running_maximum", &no_running_maximum_forward, &three_kernel_backward},
      {"persistent_tiles", &persistent_tiles_forward, &three_kernel_backward},
      {"cluster_multicast", &cluster_multicast_forward, &three_kernel_backward},
      {"fa3", &fa3_forward, &three_kernel_backward},
#endif
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
  found.driver = driver_version();
  found.capability = 10 * properties.major + properties.minor;
  if (found.capability < needed_capability)
    found.missing = "the kernels need sm_" + std::to_string(needed_capability) + "; this device, " +
                    found.name + ", is sm_" + std::to_string(found.capability) +
                    ": run on the emulator (--on cpu), or on a newer GPU";
  return found;
}

CurrentGpu::CurrentGpu(std::span<const NamedPointer> tensors) {
  require(cudaGetDevice(&before_), "asking for the current GPU");
  int gpu = -1;
  for (const NamedPointer& tensor : tensors) {
    if (!tensor.data) continue;
    const int its = gpu_of(tensor);
    if (gpu >= 0 && its != gpu)
      throw InputError(std::string(tensor.name) + " lies on GPU " + std::to_string(its) +
                       ", those before it on GPU " + std::to_string(gpu) +
                       ": pass tensors of one GPU");
    gpu = its;
  }
  if (gpu >= 0)
    require(cudaSetDevice(gpu), "making GPU " + std::to_string(gpu) + " the current one");
}

CurrentGpu::~CurrentGpu() {
  cudaSetDevice(before_);
}

std::unique_ptr<Device> gpu_device() {
  if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) throw InputError(gpu.missing);
  return std::make_unique<GpuDevice>();
}

}  // namespace flashbook
