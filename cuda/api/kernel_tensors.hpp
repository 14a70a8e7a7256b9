// The C interface's tensors as kernels take them: those that our kernels have.
#pragma once

#include <vector>

#include "cuda/api/flashbook.h"
#include "cuda/api/machine.hpp"
#include "cuda/backward/kernels.hpp"
#include "cuda/forward/kernels.hpp"

namespace flashbook {

inline ForwardTensors kernel_tensors(const flashbook_forward_tensors& t) {
  return {t.q,
          t.k,
          t.v,
          t.o,
          static_cast<float*>(t.lse),
          t.bias,
          t.alibi,
          t.sinks,
          t.cu_seqlens_q,
          t.cu_seqlens_k};
}

inline BackwardTensors kernel_tensors(const flashbook_backward_tensors& t) {
  return {t.q,
          t.k,
          t.v,
          t.o,
          static_cast<const float*>(t.lse),
          t.grad_o,
          static_cast<const float*>(t.grad_lse),
          t.grad_q,
          t.grad_k,
          t.grad_v};
}

/// What must lie on one GPU.
inline std::vector<NamedPointer> pointers(const flashbook_forward_tensors& t, void* workspace) {
  return {{"q", t.q},
          {"k", t.k},
          {"v", t.v},
          {"bias", t.bias},
          {"alibi", t.alibi},
          {"sinks", t.sinks},
          {"cu_seqlens_q", t.cu_seqlens_q},
          {"cu_seqlens_k", t.cu_seqlens_k},
          {"o", t.o},
          {"lse", t.lse},
          {"workspace", workspace}};
}

inline std::vector<NamedPointer> pointers(const flashbook_backward_tensors& t, void* workspace) {
  return {{"q", t.q},
          {"k", t.k},
          {"v", t.v},
          {"o", t.o},
          {"lse", t.lse},
          {"grad_o", t.grad_o},
          {"grad_lse", t.grad_lse},
          {"grad_q", t.grad_q},
          {"grad_k", t.grad_k},
          {"grad_v", t.grad_v},
          {"workspace", workspace}};
}

}  // namespace flashbook
