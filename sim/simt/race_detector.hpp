#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/simt/order.hpp"
#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// Finds accesses to a block's shared memory that nothing orders; reads of what was never written;
/// accesses to the target of a copy under way; and writes that an engine reads although no proxy
/// fence says so.
///
/// Barriers, mbarriers and __syncwarp order memory. Shuffles, votes and mma do not: PTX promises
/// nothing for them, although the lanes do meet.
///
/// Shared memory is remembered in cells of 4 bytes. A cell keeps its last writer, and the last
/// clock and bytes that each warp read, with all lanes that read them. An access that finds the
/// same cell under other bytes or another clock replaces what is kept. So a report is never wrong;
/// of several races on one cell some may be missed.
class RaceDetector {
 public:
  /// Forgets everything: a fresh block of `threads` threads with `bytes` of shared memory, the
  /// `rank`-th of the cluster that `order` orders.
  void reset(Order& order, unsigned rank, unsigned threads, std::size_t bytes);

  /// Who accesses, where, and what is known to it.
  struct Accessor {
    unsigned agent;
    SiteId site;
    const std::uint32_t* clock;
    std::uint32_t floor;
  };
  Accessor accessor(unsigned thread, SiteId site) const {
    const unsigned agent = first_ + thread;
    return {agent, site, order_->clock(agent), order_->floor(agent)};
  }

  // Accesses by a thread. Offsets and sizes are bytes from the start of shared memory.
  void read(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);
  void write(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);

  /// From its issue to its completion, nobody may touch the target of an asynchronous copy. When it
  /// is complete, it counts as written at `clock` of `writer`: the thread that waited for it, or an
  /// engine. The one that issues it may be a thread of another block of the cluster.
  void begin_copy(const Accessor& by, unsigned writer, std::size_t offset, std::size_t bytes);
  void end_copy(unsigned writer, std::uint32_t clock, std::size_t offset, std::size_t bytes,
                SiteId site);
  /// The engine reads from now on, until whoever writes knows its `clock`.
  void engine_read(const Accessor& by, unsigned engine, std::uint32_t clock, std::size_t offset,
                   std::size_t bytes);
  /// Checks that what is there has been written before, and is not about to change.
  void check_written(const Accessor& by, std::size_t offset, std::size_t bytes);

  // Ordering.
  void release(unsigned thread, Clock& clock) { order_->release(first_ + thread, clock); }
  void fence(unsigned thread, Order::Fence kind) { order_->fence(first_ + thread, kind); }
  void learn(unsigned thread, unsigned engine, std::uint32_t clock) {
    order_->learn(first_ + thread, engine, clock);
  }
  void acquire(unsigned thread, const Clock& clock) { order_->acquire(first_ + thread, clock); }

 private:
  struct Cell {
    std::uint32_t write_clock;
    std::uint32_t read_clock;  // no reader's was later
    SiteId write_site;
    std::uint16_t writer;
    std::uint8_t written : 4;      // the bytes of the last write, one bit each
    std::uint8_t initialised : 4;  // the bytes that were ever written
    bool copy_under_way;
  };
  struct ReadMark {
    std::uint32_t lanes;
    std::uint32_t clock;
    SiteId site;
    std::uint8_t bytes;
  };
  void check_read(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void check_write(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void check_readers(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void check_fenced(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void report_writer(const char* does, const Accessor& by, std::size_t cell);
  void report_reader(const Accessor& by, std::size_t cell, const ReadMark& mark, unsigned reader);
  void stamp(unsigned writer, std::uint32_t clock, SiteId site, std::size_t cell,
             std::uint8_t bytes);
  std::string describe(const char* did, std::size_t cell, const char* then, unsigned other) const;
  std::vector<ReadMark>& marks_of(unsigned engine);

  Order* order_ = nullptr;
  unsigned first_ = 0, rank_ = 0, warps_ = 0;  // first_: the agent that thread 0 is
  std::size_t cell_count_ = 0;
  std::vector<Cell> cells_;
  std::vector<ReadMark> reads_;  // [warp][cell]
  struct EngineReads {
    unsigned engine;
    std::vector<ReadMark> marks;  // [cell]
  };
  std::vector<EngineReads> engine_reads_;
};

}  // namespace flashbook::simt
