#include "tests/gpu/wavefronts/kernels.cuh"
#include "tests/gpu/wavefronts/patterns.hpp"

namespace flashbook::wavefronts {

LaunchStatus run_on_gpu(const std::vector<Pattern>& patterns) {
  int* memory = nullptr;  // where each lane goes, and what it gives
  if (const cudaError_t error = cudaMalloc(&memory, 2 * 32 * sizeof(int)); error != cudaSuccess)
    return {cudaGetErrorString(error)};
  LaunchStatus status;
  for (const Pattern& pattern : patterns) {
    cudaMemcpy(memory, pattern.word.data(), sizeof pattern.word, cudaMemcpyHostToDevice);
    status = gpu::wavefronts::launch_access(
        pattern.bytes, pattern.is_write, nullptr, gpu::gmem<const int>(memory),
        gpu::gmem<uint32_t>(reinterpret_cast<uint32_t*>(memory + 32)));
    if (status.ok()) status = gpu::synchronize(nullptr);
    if (!status.ok()) break;
  }
  cudaFree(memory);
  return status;
}

}  // namespace flashbook::wavefronts
