#include "tests/simt/mma_forward.cuh"
#include "tests/simt/two_machines/inputs.hpp"
#include "tests/simt/two_machines/launchers.hpp"

namespace flashbook::gpu {

bool is_present() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

LaunchStatus run_forward(int N, std::vector<unsigned short>& O, std::vector<float>& lse) {
  constexpr int d = mma_forward::d;
  const int n = N * d;
  half* memory = nullptr;  // Q, K, V, O, and the LSE behind them
  const std::size_t bytes = static_cast<std::size_t>(n) * 2;
  cudaMalloc(&memory, 4 * bytes + static_cast<std::size_t>(N) * 4);
  for (unsigned i = 0; i < 3; ++i)
    cudaMemcpy(memory + i * n, fp16_numbers(n, i + 1).data(), bytes, cudaMemcpyHostToDevice);

  const auto view = [&](int i) { return gmem<half>(memory + i * n, n); };
  float* lse_memory = reinterpret_cast<float*>(memory + 4 * n);
  const mma_forward::Parameters<half> p = {view(0),         view(1), view(2), view(3),
                                           {lse_memory, N}, N,       N,       0.125f};
  const unsigned blocks = static_cast<unsigned>((N + mma_forward::B_r - 1) / mma_forward::B_r);
  LaunchStatus status =
      launch({"mma_forward", {blocks}, {mma_forward::threads}, sizeof(mma_forward::Smem<half>)},
             nullptr, mma_forward::forward<half>, p);
  if (status.ok()) status = synchronize(nullptr);

  O.assign(static_cast<std::size_t>(n), 0);
  lse.assign(static_cast<std::size_t>(N), 0);
  cudaMemcpy(O.data(), memory + 3 * n, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(lse.data(), lse_memory, lse.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(memory);
  return status;
}

}  // namespace flashbook::gpu
