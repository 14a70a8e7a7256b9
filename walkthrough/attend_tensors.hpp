#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "walkthrough/tensor_files.hpp"

namespace flashbook {

/// What the user of `attend` asked for, as typed. Empty file names: not given.
struct AttendRequest {
  std::string q, k, v, grad_o, bias, alibi, sinks, cu_seqlens_q, cu_seqlens_k, dlse;
  std::string layout = "bnhd", dtype, causal, align;
  std::optional<double> scale, softcap;
  std::optional<std::array<std::string, 2>> window;
  bool takes_matrices = false;  ///< a tensor may also be [N, d], which is one head of one sequence
};

/// A user's tensors, rounded to one dtype, and the problem they pose.
struct AttendTensors {
  AttentionProblem problem;
  Tensor q, k, v, bias, alibi, sinks, grad_o, dlse;

  Inputs inputs() const;
  Cotangents cotangents() const;
};

/// Reads and checks what the request names. Throws InputError naming the flag that is wrong.
AttendTensors load_tensors(const AttendRequest& request);

}  // namespace flashbook
