// What kernels take: everything else is refused by name, before a launch.
#pragma once

#include <cstddef>
#include <string>

#include "cpu_reference/problem.h"

namespace flashbook {

/// Why a product kernel does not take a problem; empty if it does. It takes fp32, fp16 and bf16 (or
/// the last two, if `only_16_bit`), d and d_v up to 256, and as many tokens as its offsets and its
/// grid can count.
std::string size_refusal(const flashbook_problem& problem, bool only_16_bit = false);

/// Why a rung does not take a problem; empty if it does. Rungs take fp32, fp16 and bf16 (or the
/// last two, if `only_16_bit`), d and d_v up to 256, any N_q and N_k, causal masks of both
/// alignments, grouped heads, any scale and strides, and the gradient of the LSE.
std::string rung_refusal(const flashbook_problem& problem, bool only_16_bit = false);

/// The same for a rung that is compiled for sm_90a alone and loads Q, K and V by TMA. It takes 16
/// bits, and strides of Q, K and V that are positive multiples of 16 bytes below 2^40, but for
/// dimensions of size 1. `capability` is the device's compute capability, 0 if there is none.
std::string hopper_rung_refusal(const flashbook_problem& problem, int capability);

/// The same for a product kernel: it also takes packed sequences, windows, a soft-cap and sinks.
std::string hopper_product_refusal(const flashbook_problem& problem, int capability);

/// Why a device whose blocks have `available` bytes of shared memory does not run a kernel that
/// needs so many of them for its problem's d and d_v, whichever is larger; empty if it does.
std::string shared_memory_refusal(const flashbook_problem& problem, std::size_t needed,
                                  std::size_t available);

}  // namespace flashbook
