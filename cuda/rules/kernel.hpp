// What a kernel is to its callers, on either machine. No macro and no CUDA header: whoever runs
// kernels includes this and the lists in cuda/forward/kernels.hpp and cuda/backward/kernels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "cpu_reference/problem.h"
#include "cuda/isa/launch_types.hpp"

namespace flashbook {

/// Where the elements of a tensor lie, counted from element (0, 0, 0, 0).
struct Span {
  std::int64_t first;  ///< 0, or less with strides that run backwards
  std::int64_t size;   ///< up to the last element, gaps between strides included
};

/// The span of a tensor [batch, tokens, heads, channels], in elements.
constexpr Span span_of(const flashbook_strides& strides, std::int64_t batch, std::int64_t tokens,
                       std::int64_t heads, std::int64_t channels) {
  if (batch == 0 || tokens == 0) return {0, 0};
  std::int64_t first = 0, last = channels - 1;
  for (const std::int64_t reach :
       {(batch - 1) * strides.batch, (tokens - 1) * strides.token, (heads - 1) * strides.head})
    (reach < 0 ? first : last) += reach;
  return {first, last - first + 1};
}

/// Tensors of a forward pass, in the machine's memory: shapes and strides are the problem's.
struct ForwardTensors {
  const void *q, *k, *v;  ///< [B, N, H, d] or d_v
  void* o;                ///< [B, N_q, H_q, d_v]
  float* lse;             ///< natural log, [B, H_q, N_q], contiguous

  // Null where the problem has none.
  const void* bias = nullptr;                  ///< bias_shape and bias_strides
  const void* alibi = nullptr;                 ///< slopes, [H_q] or [members, H_q], contiguous
  const void* sinks = nullptr;                 ///< logits, [H_q], contiguous
  const std::int64_t* cu_seqlens_q = nullptr;  ///< [members + 1]
  const std::int64_t* cu_seqlens_k = nullptr;
};

/// Tensors of a backward pass. `o` and `lse` are what a forward pass wrote.
struct BackwardTensors {
  const void *q, *k, *v, *o;
  const float* lse;
  const void* grad_o;     ///< dO, strides grad_o
  const float* grad_lse;  ///< dLSE, as the LSE; null unless has_dlse
  void *grad_q, *grad_k, *grad_v;
};

/// What callers must know of a kernel's arithmetic to judge it by the right gates.
struct KernelProperties {
  /// S, P, dP and dS are stored in the problem's dtype.
  bool materialised = false;
  /// NaN may reach rows that do not see it, but share a tile of S of this many rows and keys with
  /// rows that do; 0: it does not. docs/contract.md, section 7.
  int nan_rows = 0, nan_keys = 0;
  /// Compiled for sm_90a alone: builds and devices without it do not have the kernel.
  bool hopper_only = false;
};

/// A kernel and its launcher. `Tensors` is ForwardTensors or BackwardTensors.
template <class Tensors>
struct Kernel {
  const char* name;  ///< "one_pass"
  const char* idea;  ///< what it adds to the rung before, in a few words
  /// Why the kernel does not take the problem, naming the field, its value and what is accepted;
  /// empty if it does.
  std::string (*refusal)(const flashbook_problem& problem);
  /// What it needs beside the tensors, aligned to 256 bytes; contents do not matter.
  std::size_t (*workspace_bytes)(const flashbook_problem& problem);
  /// Starts it on the stream (cuda/isa/launch.cuh). The problem is one it does not refuse.
  LaunchStatus (*launch)(const flashbook_problem& problem, const Tensors& tensors, void* workspace,
                         void* stream);
  KernelProperties properties = {};
};

using ForwardKernel = Kernel<ForwardTensors>;
using BackwardKernel = Kernel<BackwardTensors>;

}  // namespace flashbook
