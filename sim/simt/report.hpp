#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simt/event.hpp"
#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// CUDA's dim3.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr std::uint64_t size() const { return std::uint64_t{x} * y * z; }
  /// The i-th index of a grid or block of this shape; x runs fastest.
  constexpr Dim3 at(std::uint64_t i) const {
    return {static_cast<unsigned>(i % x), static_cast<unsigned>(i / x % y),
            static_cast<unsigned>(i / x / y)};
  }
};

/// What can be wrong with a kernel.
enum class Category {
  deadlock,       ///< no thread can run
  divergence,     ///< lanes of a warp, or threads of a block, at different collective instructions
  out_of_bounds,  ///< an access outside its tensor or tile; reads as NaN, is not written
  misaligned,     ///< an address that is no multiple of the access's size
  uninitialised,  ///< a read of shared memory that nobody has written
  unfinished_copy,  ///< an access to the target of an asynchronous copy before its wait
  race,             ///< two accesses of a block to shared memory that nothing orders
  block_race,  ///< two blocks access an element of global memory, not both atomically or to read
  departed,    ///< an access to a block's shared memory from its cluster, when it may have left
  invalid,     ///< an operand or a launch that no GPU accepts
};

/// "deadlock", "divergent collective", ...
std::string_view name(Category category);

/// One thing found, the first time it was. Another between the same two lines is not reported
/// again.
struct Finding {
  Category category;
  std::string what;  ///< a sentence without places
  SiteId site = 0;   ///< where it was noticed
  SiteId other = 0;  ///< the other access of a race, the copy of an unfinished copy; 0 if none
  std::string kernel;
  Dim3 block;
  std::uint64_t block_number = 0;  ///< x fastest
  unsigned thread = 0;             ///< in its block, x fastest
  unsigned seed = 0;

  std::string text() const;
  bool same_pair(const Finding& finding) const;
};

/// Memory instructions of warps and what they cost: sectors or wavefronts.
struct Traffic {
  std::uint64_t instructions = 0, cost = 0, ideal = 0;
};

/// What one line of a kernel executed. Instructions are a warp's, as a profiler counts them.
struct LineCounts {
  Traffic global_load, global_store;  ///< cost in 32-byte sectors; atomics are stores
  Traffic shared_load, shared_store;  ///< cost in wavefronts
  std::uint64_t mma = 0, mma_flops = 0;
  std::uint64_t ldmatrix = 0;
  std::uint64_t shuffles = 0;  ///< votes, too
  std::uint64_t barriers = 0;  ///< bar.sync, bar.arrive, __syncwarp
  std::uint64_t async_copies = 0;
  std::uint64_t atomics = 0;
  std::uint64_t exp2 = 0;
  std::uint64_t mbarrier_arrivals = 0, mbarrier_waits = 0;
  std::uint64_t setmaxnreg = 0;
  std::uint64_t wgmma = 0;            ///< their FLOPs are in mma_flops
  std::uint64_t tma = 0;              ///< tensor and bulk copies
  std::uint64_t tma_load_bytes = 0;   ///< of boxes into shared memory, each receiver's
  std::uint64_t tma_l2_bytes = 0;     ///< of them in the tensor: of a multicast, once
  std::uint64_t tma_store_bytes = 0;  ///< from shared memory; reductions, too

  LineCounts& operator+=(const LineCounts& c);
  bool anything() const;
  /// Whether any of it is what only Hopper GPUs have.
  bool uses_hopper() const;
};

/// Everything a launch, or many, showed.
struct Report {
  std::vector<Finding> findings;
  std::vector<LineCounts> lines;  ///< by SiteId
  std::vector<Event> events;      ///< of the block that Options::watched names
  std::uint64_t switches = 0;     ///< between fibers

  bool clean() const { return findings.empty(); }
  LineCounts total() const;
  /// Adds the finding, or keeps the earlier of the two if its pair of lines is known.
  void add(Finding finding);
  void add(Report other);
};

/// A table: one row a line that executed anything counted, in the order of the source.
std::string table(const Report& report);

}  // namespace flashbook::simt
