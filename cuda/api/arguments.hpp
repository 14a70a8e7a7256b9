// What the C interface is called with, checked before anything runs.
#pragma once

#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/api/flashbook.h"

namespace flashbook {

/// The problem with a packed one's offsets, which lie in host memory; where they are null, as in a
/// question of support, all tokens belong to the last member. Throws InputError that names the
/// first field that breaks the contract, its version included.
AttentionProblem checked_problem(const flashbook_problem* problem,
                                 const std::int64_t* cu_seqlens_q = nullptr,
                                 const std::int64_t* cu_seqlens_k = nullptr);

/// Throw InputError that names the first tensor that is null though the problem has it, or at no
/// multiple of its elements' size, or a struct that another version of the header declares. A
/// tensor without elements may be null.
void check_tensors(const flashbook_problem& problem, const flashbook_forward_tensors* tensors);
void check_tensors(const flashbook_problem& problem, const flashbook_backward_tensors* tensors);

}  // namespace flashbook
