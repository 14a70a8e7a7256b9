// The GPU's side of machine.hpp where the build had no nvcc.
#include "cpu_reference/error.hpp"
#include "cuda/api/cublas.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {

std::span<const KernelPair> gpu_pairs() {
  return {};
}

Gpu find_gpu() {
  return {
      "this program was built without nvcc, for the CPU only: install the CUDA Toolkit and "
      "build it again, or run on the emulator (--on cpu)",
      {},
      {}};
}

CurrentGpu::CurrentGpu(std::span<const NamedPointer>) {
  throw InputError(find_gpu().missing);
}

CurrentGpu::~CurrentGpu() = default;

std::unique_ptr<Device> gpu_device() {
  throw InputError(find_gpu().missing);
}

std::unique_ptr<Cublas> load_cublas(void*, void*, std::size_t) {
  return nullptr;
}

}  // namespace flashbook
