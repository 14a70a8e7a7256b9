#pragma once

#include <vector>

#include "cuda/isa/launch_types.hpp"

// What a caller of kernels sees: one launcher a machine, no macro and no CUDA header.

namespace flashbook::emulated {
/// O and the LSE of mma_forward in fp16 for fixed inputs of `N` rows and keys, as bits.
LaunchStatus run_forward(int N, std::vector<unsigned short>& O, std::vector<float>& lse);
}  // namespace flashbook::emulated

namespace flashbook::gpu {
LaunchStatus run_forward(int N, std::vector<unsigned short>& O, std::vector<float>& lse);
/// Whether there is a GPU that this program's driver can use.
bool is_present();
}  // namespace flashbook::gpu
