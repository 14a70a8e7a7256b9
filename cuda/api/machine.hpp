// The two machines that kernels run on, and what runs there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cuda/api/device.hpp"
#include "cuda/api/emulated_device.hpp"
#include "cuda/backward/kernels.hpp"
#include "cuda/forward/kernels.hpp"

namespace flashbook {

enum class Machine {
  cpu,  ///< the emulator
  gpu
};
/// "cpu", "gpu".
std::string_view name(Machine machine);

/// Kernels that compute attention together. One that is not there is null.
struct KernelPair {
  const char* name;  ///< the forward rung's
  const ForwardKernel* forward;
  const BackwardKernel* backward;
};

/// The same kernels on both machines; none on the GPU in a build without nvcc.
std::span<const KernelPair> emulated_pairs();
std::span<const KernelPair> gpu_pairs();

/// The GPU that kernels run on: the CUDA runtime's current device.
struct Gpu {
  std::string missing;  ///< why there is none that runs our kernels; empty if there is
  std::string name;     ///< "NVIDIA H200"
  std::string driver;   ///< "580.159.04", or what CUDA it has if that is all it says
  int capability = 0;   ///< 90 for sm_90
};
Gpu find_gpu();

/// A tensor of a caller, and its name for messages; null if there is none.
struct NamedPointer {
  const char* name;
  const void* data;
};

/// While it lives, the CUDA runtime's current device is the one that the tensors lie on.
class CurrentGpu {
 public:
  /// Throws InputError that names the first tensor that is not in GPU memory, or on another GPU
  /// than those before it.
  explicit CurrentGpu(std::span<const NamedPointer> tensors);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;  // unused in a build without nvcc
};

/// One device object for one caller's work. Throws InputError that says why there is no GPU.
std::unique_ptr<Device> gpu_device();

}  // namespace flashbook
