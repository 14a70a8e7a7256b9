#include <cmath>
#include <cstdio>

#include "cuda/api/implementations.hpp"

// A CUDA kernel on the emulator, in a user's program: one query against two keys, as in attend.cpp.
int main() {
  const flashbook::AttentionProblem problem(flashbook::dense_problem(1, 1, 1, 1, 2, 1, 1));
  const float q[] = {1}, k[] = {0, std::log(3.0f)}, v[] = {0, 4};
  flashbook::Inputs inputs = {};
  inputs.q = q;
  inputs.k = k;
  inputs.v = v;

  bool ok = false;
  for (const auto& kernel : flashbook::emulated_implementations({})) {
    if (!kernel->supports_forward(problem)) continue;
    float o = 0, lse = 0;
    kernel->forward(problem, inputs, {&o, &lse});
    std::printf("%s: O = %.7g (3), LSE = %.7g (ln 4)\n", kernel->name().c_str(), o, lse);
    ok = std::abs(o - 3) <= 1e-5f && std::abs(lse - std::log(4.0f)) <= 1e-6f;
    if (!ok) break;
  }
  const flashbook::Gpu gpu = flashbook::find_gpu();
  std::printf("GPU: %s\n", gpu.missing.empty() ? gpu.name.c_str() : gpu.missing.c_str());
  return ok ? 0 : 1;
}
