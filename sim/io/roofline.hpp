#pragma once

#include <string_view>

#include "sim/io/algorithms.hpp"
#include "sim/io/machines.hpp"

/// How long a pass takes at least on a GPU: each resource alone, everything else for free
/// (Williams, Waterman and Patterson, "Roofline", CACM 2009, with exp2 as a third resource).
namespace flashbook::io {

/// What a pass asks for, over the whole problem.
struct Demand {
  Index flops;       ///< of the products, as executed
  Index scores;      ///< exp2 of a score: one to each that is computed, masked or not
  Index rescales;    ///< exp2 of a change of a running maximum: one to each row of a visited tile
  Index sram_bytes;  ///< between HBM and SRAM, both ways, as counted
  /// What remains of them where no kernel moves an element twice, by closed form: the compulsory
  /// traffic. That DRAM sees no more, because the L2 cache serves what a kernel reads again, is an
  /// assumption: measured for a FlashAttention forward pass on an H200 (DRAM read within 3 % of Q,
  /// K and V), and for no other algorithm, such as FA1's sums of O or a backward pass's of dQ.
  Index dram_bytes;

  double intensity() const { return static_cast<double>(flops) / static_cast<double>(dram_bytes); }
};

/// `report` is of this algorithm, problem and schedule, executed or not. Standard backward passes
/// read P and take no exp2. Rescales are a lower order: FA1 as published takes a second to each.
Demand demand_of(const Algorithm& algorithm, const AttentionProblem& problem,
                 const Schedule& schedule, const Report& report);

enum class Resource { matmul, exp2, dram };

/// "tensor" (cores) or "fp32" (units outside them), "exp2", "DRAM".
std::string_view name(Resource resource, DType dtype);

/// Seconds of each resource.
struct Times {
  double matmul, exp2, dram;

  Resource binding() const;  ///< the one that takes longest
  double longest() const;    ///< the pass takes no less, even if all of them overlap
};

Times times_on(const Gpu& gpu, DType dtype, const Demand& demand);

}  // namespace flashbook::io
