#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/simt/bulk_load.hpp"
#include "sim/simt/multiprocessor.hpp"
#include "sim/simt/order.hpp"

namespace flashbook::simt {

/// Runs the blocks of a cluster together, on the OS thread that calls; a launch without clusters
/// has clusters of one block. Everything they need lives here and is used again by the next.
///
/// A block runs until none of its threads can, then another. When no block can run, the oldest bulk
/// copy under way lands, or the one that the seed draws.
class Cluster {
 public:
  /// Readies itself for the clusters of one launch.
  void begin(const LaunchShape& shape, const Options& options);
  /// Runs the cluster whose first block this is. False if it could not come to its end: the launch
  /// is over. Throws what the body throws.
  bool run(std::uint64_t first_block, const Multiprocessor::Body& body);

  // ---- for instructions, called by the running thread

  unsigned size() const { return static_cast<unsigned>(blocks_.size()); }
  /// The block of this rank. Ends the launch if there is none.
  Multiprocessor& peer(unsigned rank, Site site);
  Multiprocessor& block(unsigned rank) { return *blocks_[rank]; }

  /// barrier.cluster: all threads of the cluster that have not left arrive, and later wait.
  /// PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".
  void arrive(Site site);
  void wait(Site site);
  /// The running thread has left: the barrier may open now.
  void thread_left();

  /// An access to the shared memory of block `rank` on behalf of the running thread, at `clock` of
  /// `agent`. The block may not leave before it knows that.
  void visit(unsigned rank, unsigned agent, std::uint32_t clock, SiteId site);
  /// The same, on behalf of a bulk load that the thread issued.
  void visit(const BulkLoad& load, unsigned agent, std::uint32_t clock);

  Order order;
  BulkLoads loads;

 private:
  struct Barrier {
    unsigned arrived = 0;
    unsigned phase = 0;
    std::vector<Thread*> waiting;
    Clock current, completed;
  };
  struct Visit {
    std::uint32_t clock;
    unsigned issuer_rank, issuer;
    SiteId site;
    bool is_load;
  };
  unsigned live_threads() const;
  void open_barrier();
  bool step();
  void check_visits();
  void report(unsigned rank, const Visit& visit);

  std::vector<std::unique_ptr<Multiprocessor>> blocks_;
  Barrier barrier_;
  std::map<std::pair<unsigned, unsigned>, Visit> visits_;  // by block and agent; the last
};

}  // namespace flashbook::simt
