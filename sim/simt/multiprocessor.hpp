#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/simt/access_log.hpp"
#include "sim/simt/async_copy.hpp"
#include "sim/simt/barrier.hpp"
#include "sim/simt/bulk_store.hpp"
#include "sim/simt/fiber.hpp"
#include "sim/simt/global_memory.hpp"
#include "sim/simt/instruction.hpp"
#include "sim/simt/mbarrier.hpp"
#include "sim/simt/options.hpp"
#include "sim/simt/race_detector.hpp"
#include "sim/simt/warpgroup.hpp"

namespace flashbook::simt {

class Cluster;
class Multiprocessor;
struct Warp;

/// A CUDA thread of the block that runs.
struct Thread {
  Fiber fiber;
  unsigned index = 0;  ///< in its block, x fastest
  unsigned lane = 0;
  Dim3 position;  ///< threadIdx
  Warp* warp = nullptr;
  bool exited = false;

  Instruction waits_in = Instruction::none;
  Site waits_at;
  unsigned waits_for = 0;  ///< number of the barrier, offset of the mbarrier
  CopyQueue copies;
  BulkStores stores;
  unsigned cluster_phase = 0;  ///< of the cluster's barrier when it arrived there
  bool arrived_in_cluster = false;

  Multiprocessor& home() const;
};

struct Warp {
  Multiprocessor* home = nullptr;
  unsigned index = 0;
  Thread* first = nullptr;  ///< lane 0; the others follow
  std::uint32_t lanes = 0;  ///< that the block has
  std::uint32_t live = 0;   ///< that have not left the kernel
  std::uint32_t ready = 0;  ///< that can run
  AccessLog log;

  // The collective instruction that lanes have come to.
  std::uint32_t arrived = 0;
  Instruction instruction = Instruction::none;
  Site site;
  std::array<void*, 32> arguments = {};
};

/// Runs blocks, one at a time, on the OS thread that calls. Everything a block needs lives here and
/// is used again by the next; what it shares with the others of its cluster lives in Cluster, which
/// decides when it runs.
///
/// A thread runs until it must wait; then the lowest ready lane of the same warp runs, and when the
/// warp has none, another warp.
class Multiprocessor {
 public:
  using Body = std::function<void()>;  ///< what one thread executes

  /// Readies itself for the blocks of one launch: those of this rank in their clusters.
  void begin(const LaunchShape& shape, const Options& options, Cluster& cluster, unsigned rank);
  /// Makes the threads of a block, none of which runs yet.
  void start(std::uint64_t block_number, const Body& body);
  /// Runs until no thread can.
  void resume();
  /// After the block, or what there was of it. `explain`: reports who waits for what.
  void finish(bool explain);
  /// Throws what the body has thrown, if it has.
  void rethrow();
  bool can_run() const { return ready_warps_ != 0; }
  bool stopped() const { return stopped_; }
  /// What the threads that have left knew, where the detector needs it.
  const Clock& known_at_end() const { return known_at_end_; }
  /// A number below `below`: 0, or what the seed draws.
  unsigned draw(unsigned below) { return options_.seed ? random(below) : 0; }

  // ---- for instructions, called by the running thread

  const LaunchShape& shape() const { return shape_; }
  const Options& options() const { return options_; }
  const Dim3& block() const { return block_; }
  std::uint64_t block_number() const { return block_number_; }
  bool observes() const { return options_.count || options_.check; }
  unsigned live_threads() const { return live_; }
  Cluster& cluster() const { return *cluster_; }
  unsigned rank() const { return rank_; }  ///< of the block in its cluster

  /// Lets others run until somebody wakes the running thread. What it waits for is for reports.
  void suspend(Instruction instruction, Site site, unsigned barrier = 0);
  /// The same, for the lanes that have come to the instruction that their warp knows.
  void suspend_in_warp(Thread& thread);
  /// The thread may be another block's.
  static void wake(Thread& thread);
  /// Wakes all lanes of the mask, of a warp of this block.
  void wake(Warp& warp, std::uint32_t lanes);

  /// Records a finding at the running thread; `what` is called if the pair of sites is new.
  template <class F>
  void report(Category category, SiteId site, SiteId other, F&& what) {
    if (is_new(category, site, other)) add_finding(category, site, other, what());
  }
  /// Records a finding and ends the launch.
  [[noreturn]] void stop(Category category, SiteId site, SiteId other, std::string what);

  LineCounts& line(Site site);
  /// Records what happened in this block, if it is watched.
  void record(const Event& event) {
    if (block_number_ == options_.watched) findings.events.push_back(event);
  }
  void flush(Warp& warp) {
    if (!warp.log.empty()) warp.log.flush(findings.lines);
  }

  Report findings;
  std::byte* shared() const { return shared_.get(); }
  RaceDetector races;
  GlobalShadow global;
  Barriers barriers;
  Mbarriers mbarriers;
  Warpgroups warpgroups;
  std::vector<Thread> threads;
  std::vector<Warp> warps;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static void thread_main();
  [[noreturn]] void leave();
  [[noreturn]] void abandon();
  void start_threads();
  void resume_next(Fiber& from);
  void resume_other_warp(Fiber& from);
  Thread& take_lane(Warp& warp);
  unsigned random(unsigned below);
  bool is_new(Category category, SiteId site, SiteId other);
  void add_finding(Category category, SiteId site, SiteId other, std::string what);
  void explain_standstill();

  Cluster* cluster_ = nullptr;
  unsigned rank_ = 0;
  Clock known_at_end_;
  LaunchShape shape_;
  Options options_;
  const Body* body_ = nullptr;
  Dim3 block_;
  std::uint64_t block_number_ = 0;

  Fiber scheduler_;
  Stacks stacks_;
  std::unique_ptr<std::byte, Free> shared_;
  std::size_t shared_capacity_ = 0;
  std::uint32_t ready_warps_ = 0;
  unsigned current_warp_ = 0, live_ = 0;
  std::uint64_t random_state_ = 0;
  bool stopped_ = false;
  std::exception_ptr thrown_;
  struct Known {
    Category category;
    SiteId site, other;
  };
  std::vector<Known> known_;
};

/// The multiprocessor and the thread that run on this OS thread.
inline constinit thread_local Multiprocessor* sm = nullptr;
inline constinit thread_local Thread* this_thread = nullptr;

inline Multiprocessor& Thread::home() const {
  return *warp->home;
}

inline void Multiprocessor::wake(Warp& warp, std::uint32_t lanes) {
  warp.ready |= lanes;
  if (lanes) ready_warps_ |= 1u << warp.index;
}

inline Thread& Multiprocessor::take_lane(Warp& warp) {
  const int lane = std::countr_zero(warp.ready);
  warp.ready &= warp.ready - 1;
  if (warp.ready == 0) ready_warps_ &= ~(1u << warp.index);
  return warp.first[lane];
}

inline void Multiprocessor::suspend_in_warp(Thread& thread) {
  Warp& warp = *thread.warp;
  if (warp.ready == 0) return resume_other_warp(thread.fiber);
  ++findings.switches;
  Thread& next = take_lane(warp);
  this_thread = &next;
  Fiber::switch_to(thread.fiber, next.fiber);
}

inline LineCounts& Multiprocessor::line(Site site) {
  const SiteId id = id_of(site);
  if (id >= findings.lines.size()) findings.lines.resize(id + std::size_t{1});
  return findings.lines[id];
}

}  // namespace flashbook::simt
