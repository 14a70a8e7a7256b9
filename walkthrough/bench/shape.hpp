// The shapes that `bench` times, and what a pass on one of them nominally computes.
#pragma once

#include <string>
#include <vector>

#include "cpu_reference/attention_problem.hpp"
#include "cuda/api/machine.hpp"
#include "tests/conformance/support.hpp"

namespace flashbook::bench {

using conformance::Pass;

/// Self-attention of `batch` sequences of n tokens, `heads` heads of d channels.
struct Shape {
  std::int64_t batch, heads, n, d;
  bool causal;
  bool packed = false;  ///< the sequences are the members of one, [1, heads, batch n, d]
};

/// The field's convention: 4 n² d a head forward, half of that for causal masks, 2.5 times it
/// backward (FlashAttention-2, section 4.1). What a kernel executes differs.
double nominal_flops(const Shape& shape, Pass pass);

/// Tensors [batch, heads, n, d] in memory, as PyTorch has them; bottom-right, scale 1/√d.
AttentionProblem problem_of(const Shape& shape, DType dtype);

/// "n = 4096, d = 128, causal, batch 4, 16 heads", "n = 512, d = 64, packed, 32 members, …".
std::string text_of(const Shape& shape);

/// The grid of the published tables on a GPU: 16,384 tokens a batch, heads · d = 2048, n = 512 to
/// 16k, d = 64, 128, 256, both masks. On a CPU two short sequences.
std::vector<Shape> default_shapes(Machine machine);

/// The shapes of one --shape: words n=4096 and d=128, either with a list (n=512,1024), `causal`,
/// `dense` or both, `packed` for each of these packed, too, and b= and h=, which otherwise are the
/// default grid's. Throws InputError that names the word, its value and what is accepted.
std::vector<Shape> parse_shapes(const std::string& text, Machine machine);

}  // namespace flashbook::bench
