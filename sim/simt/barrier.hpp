#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/simt/race_detector.hpp"

namespace flashbook::simt {

struct Thread;

/// The barriers of a block: sixteen with numbers, and mbarriers, which are objects in shared
/// memory.
class Barriers {
 public:
  static constexpr unsigned numbered = 16;

  void reset();

  static constexpr unsigned everybody = ~0u;  ///< that has not left the kernel

  /// bar.sync (`wait`) and bar.arrive: the running thread arrives at barrier `id`, which opens when
  /// `count` threads have. Warps must come whole, to one call.
  /// PTX ISA, "Parallel Synchronization and Communication Instructions: barrier{.cta}".
  void arrive(unsigned id, unsigned count, bool wait, Site site);
  /// The running thread has left: a barrier of all threads may open now.
  void thread_left();

  // mbarriers, by their offset in shared memory. PTX ISA, "mbarrier".
  /// A phase is complete after `arrivals` arrivals and as many bytes as arrivals have announced.
  void mbarrier_init(std::uint32_t offset, unsigned arrivals, Site site);
  /// Announces `bytes` more of the current phase, then arrives.
  void mbarrier_arrive(std::uint32_t offset, std::uint32_t bytes, Site site);
  /// Bytes announced have been written.
  void mbarrier_complete_bytes(std::uint32_t offset, std::uint32_t bytes, Site site);
  /// Returns when the phase of this parity is complete.
  void mbarrier_wait(std::uint32_t offset, unsigned parity, Site site);

 private:
  struct Part {
    std::uint32_t lanes = 0;  // of one warp that have arrived
    Site site;
  };
  struct Numbered {
    unsigned arrived = 0, count = 0;
    Site site;  // of the first arrival
    std::array<Part, 32> parts;
    std::vector<Thread*> waiting;
    Clock clock;
  };
  struct Mbarrier {
    std::uint32_t offset = 0;
    unsigned arrivals = 0, pending = 0, phase = 0;
    std::int64_t pending_bytes = 0;
    std::vector<Thread*> waiting;
    Clock current, completed;  // what arrivals at this phase, and at all before, have released
  };
  Numbered& joined(unsigned id, unsigned count, Site site);
  static void join_part(Numbered& barrier, Site site);
  static void check_parts(const Numbered& barrier, Site site);
  static void open(Numbered& barrier);
  Mbarrier& mbarrier(std::uint32_t offset, Site site);
  static void complete_phase_if_due(Mbarrier& m);

  std::array<Numbered, numbered> numbered_;
  std::vector<Mbarrier> mbarriers_;
};

}  // namespace flashbook::simt
