#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flashbook::simt {

/// What happened before a point of a cluster, as one number an agent: the agent's accesses up to
/// its clock of that number have happened before.
using Clock = std::vector<std::uint32_t>;

/// What happened before either.
void join(Clock& clock, const Clock& other);

/// Happens-before among the agents of a cluster, with a vector clock a thread (Flanagan and Freund,
/// FastTrack, PLDI 2009).
///
/// Agents are the threads, numbered block after block, and engines, which access shared memory on
/// their behalf: the tensor cores of a warpgroup, the copies of an mbarrier, the bulk stores of a
/// thread. An engine knows nothing; a thread that waits for it learns its clock. Clocks of engines
/// are above all clocks of threads.
class Order {
 public:
  enum class Fence : std::uint8_t { proxy, mbarrier_init };

  /// Forgets everything: `blocks` blocks of `threads_per_block` threads.
  void reset(unsigned blocks, unsigned threads_per_block);

  /// A new engine's number. Its name is for reports.
  unsigned add_engine(std::string name);
  bool has_engines() const { return !engines_.empty(); }
  bool is_engine(unsigned agent) const { return agent >= threads_; }
  /// What an engine does from now on has this clock; nobody knows it yet.
  std::uint32_t advance(unsigned engine);
  /// The thread waited for the engine.
  void learn(unsigned thread, unsigned engine, std::uint32_t clock);

  /// What the thread did until now happened before whatever acquires `clock`.
  void release(unsigned thread, Clock& clock);
  void acquire(unsigned thread, const Clock& clock);

  /// The thread orders its earlier writes before what an engine reads later.
  void fence(unsigned thread, Fence kind);
  /// Whether the writer has done so since its `clock`, as far as one can see who knows it up to
  /// `known`.
  bool is_fenced(unsigned writer, std::uint32_t clock, std::uint32_t known, Fence kind) const;

  const std::uint32_t* clock(unsigned thread) const { return &clocks_[thread * stride_]; }
  std::uint32_t now(unsigned thread) const { return clocks_[thread * stride_ + thread]; }
  /// The least of a thread's clocks of threads: whatever threads did until then happened before.
  /// Most accesses need no other answer.
  std::uint32_t floor(unsigned thread) const { return floors_[thread]; }
  std::size_t size() const { return stride_; }
  /// "thread 37 (warp 1)", with the block's rank if it is another than `rank`.
  std::string name(unsigned agent, unsigned rank) const;

 private:
  struct Engine {
    std::string name;
    std::uint32_t clock;
  };
  void widen(std::size_t agents);

  unsigned threads_ = 0, block_ = 1;
  std::size_t stride_ = 0;
  std::vector<std::uint32_t> clocks_;  // [thread][agent]
  std::vector<std::uint32_t> floors_;
  std::vector<std::vector<std::uint32_t>> fences_[2];  // [kind][thread], ascending
  std::vector<Engine> engines_;
};

}  // namespace flashbook::simt
