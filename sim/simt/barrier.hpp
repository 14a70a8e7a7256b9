#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/simt/race_detector.hpp"

namespace flashbook::simt {

struct Thread;

/// The sixteen barriers of a block that have numbers.
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
  Numbered& joined(unsigned id, unsigned count, Site site);
  static void join_part(Numbered& barrier, Site site);
  static void check_parts(const Numbered& barrier, Site site);
  static void open(Numbered& barrier);

  std::array<Numbered, numbered> numbered_;
};

}  // namespace flashbook::simt
