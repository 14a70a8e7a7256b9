#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// What happened before a point of a block, as one number a thread: the thread's accesses up to its
/// clock of that number have happened before.
using Clock = std::vector<std::uint32_t>;

/// What happened before either.
void join(Clock& clock, const Clock& other);

/// Finds accesses to a block's shared memory that nothing orders, by happens-before with a vector
/// clock a thread (Flanagan and Freund, FastTrack, PLDI 2009); reads of what was never written; and
/// accesses to the target of a copy under way.
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
  /// Forgets everything: a fresh block of `threads` threads with `bytes` of shared memory.
  void reset(unsigned threads, std::size_t bytes);

  // Accesses by a thread. Offsets and sizes are bytes from the start of shared memory.
  void read(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);
  void write(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);
  /// From its issue to its completion, nobody may touch the target of an asynchronous copy. When it
  /// is complete, it counts as written by the thread that waited for it.
  void begin_copy(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);
  void end_copy(unsigned thread, std::size_t offset, std::size_t bytes, SiteId site);

  // Ordering.
  /// What the thread did until now happened before whatever acquires `clock`.
  void release(unsigned thread, Clock& clock);
  void acquire(unsigned thread, const Clock& clock);

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
  struct Accessor {
    unsigned thread;
    SiteId site;
    const std::uint32_t* clock;
    std::uint32_t floor;
  };

  Accessor accessor(unsigned thread, SiteId site) const {
    return {thread, site, &clocks_[thread * stride_], floors_[thread]};
  }
  void check_read(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void check_write(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void check_readers(const Accessor& by, std::size_t cell, std::uint8_t bytes);
  void stamp(const Accessor& by, std::size_t cell, std::uint8_t bytes);

  unsigned threads_ = 0, warps_ = 0;
  std::size_t stride_ = 0, cell_count_ = 0;
  std::vector<std::uint32_t> clocks_;  // [thread][thread]
  // The least of a thread's clocks: whatever anybody did until then happened before. Most accesses
  // need no other answer.
  std::vector<std::uint32_t> floors_;
  std::vector<Cell> cells_;
  std::vector<ReadMark> reads_;  // [warp][cell]
};

}  // namespace flashbook::simt
