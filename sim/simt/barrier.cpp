#include "sim/simt/barrier.hpp"

#include <string>

#include "sim/simt/collective.hpp"

namespace flashbook::simt {
namespace {

void log_arrival(Site site) {
  if (sm->options().count)
    this_thread->warp->log.execute(id_of(site), Access::barrier, this_thread->lane);
}

void release(Clock& clock) {
  if (sm->options().check) sm->races.release(this_thread->index, clock);
}

void acquire(const Thread& thread, const Clock& clock) {
  if (sm->options().check) sm->races.acquire(thread.index, clock);
}

/// Whether every lane of a warp that can wait is among those who do.
bool waits_whole(const Warp& warp, const std::vector<Thread*>& waiting) {
  std::uint32_t lanes = 0;
  for (const Thread* thread : waiting)
    if (thread->warp == &warp) lanes |= 1u << thread->lane;
  if (this_thread && this_thread->warp == &warp) lanes |= 1u << this_thread->lane;
  return warp.live != 0 && lanes == warp.live;
}

std::string number(unsigned n) {
  return std::to_string(n);
}

}  // namespace

void Barriers::reset() {
  numbered_ = {};
}

void Barriers::arrive(unsigned id, unsigned count, bool wait, Site site) {
  Numbered& barrier = joined(id, count, site);
  log_arrival(site);
  release(barrier.clock);
  const bool opens = ++barrier.arrived == (count == everybody ? sm->live_threads() : count);
  if (opens) {
    if (count != everybody) check_parts(barrier, site);
    if (wait) acquire(*this_thread, barrier.clock);
    open(barrier);
  } else if (wait) {
    barrier.waiting.push_back(this_thread);
    sm->suspend(Instruction::barrier, site, id);
  }
}

Barriers::Numbered& Barriers::joined(unsigned id, unsigned count, Site site) {
  const bool is_whole = count > 0 && count % 32 == 0 && count <= sm->threads.size();
  if (id >= numbered || !(is_whole || count == everybody))
    sm->stop(Category::invalid, id_of(site), 0,
             "barrier " + number(id) + " of " + number(count) +
                 " threads: there are barriers 0 to 15, of whole warps of this block");
  Numbered& barrier = numbered_[id];
  if (barrier.arrived == 0) {
    barrier.count = count;
    barrier.site = site;
  } else if (barrier.count != count) {
    sm->stop(Category::invalid, id_of(site), id_of(barrier.site),
             "barrier " + number(id) + " of " + number(count) + " threads, where others wait for " +
                 number(barrier.count));
  } else if (count == everybody && !same(barrier.site, site)) {
    sm->stop(Category::divergence, id_of(site), id_of(barrier.site),
             "a block's threads must meet in the same __syncthreads, and came to two");
  }
  if (count != everybody) join_part(barrier, site);
  return barrier;
}

void Barriers::join_part(Numbered& barrier, Site site) {
  Part& part = barrier.parts[this_thread->warp->index];
  const std::uint32_t lane = 1u << this_thread->lane;
  if (part.lanes == 0 || part.lanes & lane)  // the first, or again
    part = {0, site};
  else if (!same(part.site, site))
    sm->stop(Category::divergence, id_of(site), id_of(part.site),
             "a warp's lanes must come to the same barrier instruction, and came to two");
  part.lanes |= lane;
}

void Barriers::check_parts(const Numbered& barrier, Site site) {
  for (const Warp& warp : sm->warps) {
    const std::uint32_t lanes = barrier.parts[warp.index].lanes;
    if (lanes == 0 || (warp.live & ~lanes) == 0) continue;
    sm->report(Category::divergence, id_of(site), 0, [&] {
      return "the barrier opens by lanes of warp " + number(warp.index) +
             ", others of which have not come: a warp must come whole";
    });
  }
}

void Barriers::open(Numbered& barrier) {
  for (Thread* thread : barrier.waiting) {
    acquire(*thread, barrier.clock);
    sm->wake(*thread);
  }
  for (Warp& warp : sm->warps)
    if (waits_whole(warp, barrier.waiting)) sm->flush(warp);
  barrier.arrived = 0;
  if (barrier.count != everybody) barrier.parts = {};
  barrier.waiting.clear();
  barrier.clock.clear();
}

void Barriers::thread_left() {
  Numbered& all = numbered_[0];
  if (all.arrived > 0 && all.count == everybody && all.arrived == sm->live_threads()) open(all);
}

}  // namespace flashbook::simt
