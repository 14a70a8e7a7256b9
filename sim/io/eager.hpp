#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cpu_reference/tensor_view.hpp"

/// Attention in an eager framework, forward and backward in training: every operation is a pass
/// over memory of its own. The FA1 paper (arXiv 2205.14135, Figure 2) compares with such a
/// framework and does not say how it counts; this is what the operations read and write.
namespace flashbook::io {

/// One tensor of an operation, and which way it goes. A square one is [N, N], any other [N, d].
struct EagerTensor {
  std::string_view name;
  bool square, written;
  Index element_bytes;

  /// Of one head.
  Index bytes(Index n, Index d) const { return n * (square ? n : d) * element_bytes; }
};

struct EagerPass {
  std::string_view name, formula;
  bool backward;
  std::vector<EagerTensor> tensors;

  Index bytes_read(Index n, Index d) const { return bytes(n, d, false); }
  Index bytes_written(Index n, Index d) const { return bytes(n, d, true); }

 private:
  Index bytes(Index n, Index d, bool written) const;
};

/// In 16 bits, with dropout and an additive mask, as GPT-2 is trained. The mask is one [N, N] for
/// all heads, which a cache holds: it is not counted. Its gradient is nobody's.
std::span<const EagerPass> eager_passes();

}  // namespace flashbook::io
