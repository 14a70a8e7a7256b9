#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/simt/instruction.hpp"
#include "sim/simt/pointer.hpp"
#include "sim/simt/site.hpp"

namespace flashbook::simt {

struct Thread;
struct Warp;

/// An operand of wgmma in shared memory: 16-bit elements in 128-byte rows whose 16-byte chunks are
/// exchanged by the 128-byte swizzle; wider matrices are kept in blocks of 64 columns.
struct WgmmaMatrix {
  Pointer<const std::byte> tile;  ///< aligned to 1024
  std::uint32_t start = 0;        ///< bytes from the tile's begin, before the swizzle
  std::uint32_t leading = 0;      ///< bytes from a block of columns to the next
};

enum class WgmmaType : std::uint8_t { fp16, bf16 };

/// The matrix products of a warpgroup that have not been waited for.
class WgmmaQueue {
 public:
  /// Accumulators while products are under way: the threads' registers are NaN meanwhile.
  struct Accumulators {
    std::array<float*, 128> registers;
    unsigned n;                 ///< columns; 64 rows
    std::vector<float> values;  ///< [64][n]
    unsigned under_way;         ///< products
  };
  struct Product {
    std::shared_ptr<Accumulators> D;
    std::array<std::uint32_t, 512> A_rmem;  ///< [128][4], if A_in_registers
    WgmmaMatrix A, B;
    bool A_in_registers, B_transposed, accumulate;
    WgmmaType type;
  };

  void clear();
  bool empty() const { return products_.empty(); }
  /// Whether a wait would execute anything.
  bool can_wait(std::size_t newest) const {
    return groups_.size() > newest && groups_[groups_.size() - newest - 1].end > 0;
  }
  SiteId first_site() const { return site_; }
  /// The accumulators in these registers, which become NaN.
  std::shared_ptr<Accumulators> accumulators(const std::array<float*, 128>& registers, unsigned n);
  void add(Product product, SiteId site);
  void commit();
  /// Executes all groups but the `newest` last ones. Returns the clock of the last.
  std::uint32_t wait_group(std::size_t newest);

  unsigned engine = 0;      ///< of the race detector; 0 if none is known yet
  std::uint32_t clock = 0;  ///< of the group that is not committed

 private:
  struct Group {
    std::size_t end;  // in products_
    std::uint32_t clock;
  };
  std::deque<Product> products_;
  std::deque<Group> groups_;
  std::vector<std::shared_ptr<Accumulators>> under_way_;
  SiteId site_ = 0;
};

/// Four warps, the first of which has a number divisible by four.
struct Warpgroup {
  unsigned arrived = 0;  ///< warps that have come to the instruction
  Instruction instruction = Instruction::none;
  Site site;
  bool fenced = false;  ///< registers have been ordered before the next wgmma
  WgmmaQueue products;
  unsigned registers = 0;  ///< of a thread
  unsigned wanted = 0;     ///< by setmaxnreg, which waits for them; 0 if it does not
  std::vector<Thread*> waiting;
};

class Warpgroups {
 public:
  void reset(std::size_t threads);
  Warpgroup& of(const Warp& warp);
  /// setmaxnreg: gives registers back, or waits until there are enough. A thread has at first as
  /// many as fit, a multiple of 8: what a launch bound of one block a multiprocessor gives. The
  /// pool holds what the block's threads have given back.
  /// PTX ISA, "Miscellaneous Instructions: setmaxnreg".
  void set_registers(unsigned count, bool increase, Site site);
  void report_unfinished(const Thread& thread);

 private:
  void request(Warpgroup& group, unsigned count, bool increase, Site site);
  void grant();

  std::vector<Warpgroup> all_;
  unsigned free_registers_ = 0;
};

}  // namespace flashbook::simt
