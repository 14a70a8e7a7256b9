#include "tests/simt/mma_forward.cuh"
#include "tests/simt/two_machines/inputs.hpp"
#include "tests/simt/two_machines/launchers.hpp"

namespace flashbook::emulated {

LaunchStatus run_forward(int N, std::vector<unsigned short>& O, std::vector<float>& lse) {
  constexpr int d = mma_forward::d;
  const int n = N * d;
  std::vector<std::uint16_t> Q = fp16_numbers(n, 1), K = fp16_numbers(n, 2), V = fp16_numbers(n, 3);
  O.assign(static_cast<std::size_t>(n), 0);
  lse.assign(static_cast<std::size_t>(N), 0);
  const auto view = [&](auto& bits) { return gmem<half>(reinterpret_cast<half*>(bits.data()), n); };
  const mma_forward::Parameters<half> p = {view(Q),         view(K), view(V), view(O),
                                           {lse.data(), N}, N,       N,       0.125f};
  const unsigned blocks = static_cast<unsigned>((N + mma_forward::B_r - 1) / mma_forward::B_r);
  return launch({"mma_forward", {blocks}, {mma_forward::threads}, sizeof(mma_forward::Smem<half>)},
                nullptr, mma_forward::forward<half>, p);
}

}  // namespace flashbook::emulated
