#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simt/race_detector.hpp"

namespace flashbook::simt {

class Multiprocessor;
struct Thread;

/// The mbarriers of a block, by their offsets in its shared memory. A phase is complete after as
/// many arrivals as the barrier is initialised with, and as many bytes as they have announced.
/// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". What it says of
/// release and acquire is kept: whatever happened before an arrival or a copy's completion happened
/// before the wait for its phase.
class Mbarriers {
 public:
  void reset(Multiprocessor& home);

  // By the running thread. It may be of another block of the cluster, except to initialise and
  // wait.
  void init(std::uint32_t offset, unsigned arrivals, Site site);
  void arrive(std::uint32_t offset, Site site);
  /// Announces `bytes` more of the current phase.
  void expect(std::uint32_t offset, std::uint32_t bytes, Site site);
  /// Returns when the phase of this parity is complete.
  void wait(std::uint32_t offset, unsigned parity, Site site);

  // For copies.
  /// The engine that writes what the barrier waits for. Reports a barrier whose initialisation the
  /// running thread's copies may not see.
  unsigned begin_copy(std::uint32_t offset, Site site);
  unsigned engine(std::uint32_t offset) { return find(offset)->engine; }
  /// The clock of what lands in the current phase.
  std::uint32_t clock_of_copies(std::uint32_t offset);
  /// Bytes announced have been written.
  void complete_bytes(std::uint32_t offset, std::uint32_t bytes);

  /// "1 of 2 arrivals and 64 announced bytes have not come", for reports.
  std::string missing(std::uint32_t offset) const;

 private:
  struct Mbarrier {
    std::uint32_t offset = 0;
    unsigned arrivals = 0, pending = 0, phase = 0;
    std::int64_t pending_bytes = 0;
    std::vector<Thread*> waiting;
    Clock current, completed;  // what arrivals at this phase, and at all before, have released
    unsigned initialiser = 0;  // agent
    std::uint32_t initialised_at = 0;
    unsigned engine = 0;  // of the copies that it waits for; 0 if there were none
    std::uint32_t engine_clock = 0;
  };
  Mbarrier* find(std::uint32_t offset);
  /// An mbarrier that the running thread may use, or the launch ends.
  Mbarrier& usable(std::uint32_t offset, Site site);
  void complete_phase_if_due(Mbarrier& m);
  void check_fence(const Mbarrier& m, Site site) const;

  Multiprocessor* home_ = nullptr;
  std::vector<Mbarrier> all_;
};

}  // namespace flashbook::simt
