#include "sim/simt/multiprocessor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <utility>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

/// "threads 0-31, 40"
std::string ranges(const std::vector<unsigned>& threads) {
  std::string out = threads.size() == 1 ? "thread " : "threads ";
  for (std::size_t i = 0; i < threads.size();) {
    std::size_t last = i;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
    if (i > 0) out += ", ";
    out += std::to_string(threads[i]);
    if (last > i) out += "-" + std::to_string(threads[last]);
    i = last + 1;
  }
  return out;
}

std::string where(const Thread& thread) {
  if (thread.exited) return "have left the kernel";
  const Warp& warp = *thread.warp;
  if (warp.arrived >> thread.lane & 1)
    return std::string("wait in ") + name(warp.instruction) + " at " + text(warp.site);
  std::string out = std::string("wait in ") + name(thread.waits_in);
  if (thread.waits_in == Instruction::barrier) out += " " + std::to_string(thread.waits_for);
  out += " at " + text(thread.waits_at);
  if (thread.waits_in == Instruction::mbarrier_wait)
    out += " (" + thread.home().mbarriers.missing(thread.waits_for) + ")";
  return out;
}

/// "threads 0-31 wait in …", "thread 3 waits in …".
std::string clause(const std::vector<unsigned>& threads, const std::string& place) {
  if (threads.size() > 1) return ranges(threads) + " " + place;
  const bool waits = place.starts_with("wait");
  return ranges(threads) + (waits ? " waits" : " has") + place.substr(4);
}

/// Who waits where, one clause a place.
std::string whereabouts(std::span<const Thread> threads) {
  std::map<std::string, std::vector<unsigned>> places;
  for (const Thread& thread : threads) places[where(thread)].push_back(thread.index);
  std::string out;
  for (const auto& [place, indices] : places)
    out += (out.empty() ? "" : "; ") + clause(indices, place);
  return out;
}

}  // namespace

void Multiprocessor::begin(const LaunchShape& shape, const Options& options, Cluster& cluster,
                           unsigned rank) {
  cluster_ = &cluster;
  rank_ = rank;
  shape_ = shape;
  options_ = options;
  findings = {};
  known_.clear();
  global.clear();
  threads.resize(shape.block.size());
  warps.resize((threads.size() + 31) / 32);
  stacks_.reserve(threads.size());
  if (shape.shared_bytes > shared_capacity_ || !shared_) {
    shared_capacity_ = (shape.shared_bytes + 1023) / 1024 * 1024 + 1024;
    shared_.reset(static_cast<std::byte*>(std::aligned_alloc(1024, shared_capacity_)));
    if (!shared_) throw std::bad_alloc();
  }
}

void Multiprocessor::start(std::uint64_t block_number, const Body& body) {
  body_ = &body;
  block_number_ = block_number;
  block_ = shape_.grid.at(block_number);
  random_state_ = options_.seed * 0x9e3779b97f4a7c15ull + block_number;
  stopped_ = false;
  known_at_end_.clear();
  barriers.reset();
  mbarriers.reset(*this);
  warpgroups.reset(threads.size());
  if (options_.check)
    races.reset(cluster_->order, rank_, static_cast<unsigned>(threads.size()), shape_.shared_bytes);
  std::memset(shared(), 0xff, shape_.shared_bytes);  // NaN in every floating-point format
  start_threads();
}

void Multiprocessor::resume() {
  sm = this;
  resume_next(scheduler_);  // returns when no thread can run
  sm = nullptr;
  this_thread = nullptr;
}

void Multiprocessor::finish(bool explain) {
  sm = this;
  if (live_ > 0 && explain) explain_standstill();
  for (Warp& warp : warps) flush(warp);
  sm = nullptr;
  this_thread = nullptr;
}

void Multiprocessor::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Multiprocessor::start_threads() {
  live_ = static_cast<unsigned>(threads.size());
  ready_warps_ = 0;
  current_warp_ = 0;
  for (unsigned w = 0; w < warps.size(); ++w) {
    Warp& warp = warps[w];
    const unsigned lanes = std::min(32u, live_ - w * 32);
    warp.home = this;
    warp.index = w;
    warp.first = &threads[std::size_t{w} * 32];
    warp.lanes = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.live = warp.lanes;
    warp.ready = warp.arrived = 0;
    wake(warp, warp.lanes);
  }
  for (unsigned i = 0; i < threads.size(); ++i) {
    Thread& thread = threads[i];
    thread.index = i;
    thread.lane = i % 32;
    thread.position = shape_.block.at(i);
    thread.warp = &warps[i / 32];
    thread.exited = false;
    thread.waits_in = Instruction::none;
    thread.copies.clear();
    thread.stores.clear();
    thread.arrived_in_cluster = false;
    // Stacks that begin at the same place in their pages would compete for the same cache lines.
    const std::size_t stagger = thread.lane * std::size_t{832};
    thread.fiber.prepare(stacks_[i], Stacks::bytes, stagger, thread_main);
  }
}

void Multiprocessor::thread_main() {
  Fiber::entered(this_thread->fiber);
  try {
    (*sm->body_)();
  } catch (...) {
    sm->thrown_ = std::current_exception();
  }
  if (sm->thrown_) sm->abandon();
  sm->leave();
}

void Multiprocessor::leave() {
  Thread& thread = *this_thread;
  Warp& warp = *thread.warp;
  if (options_.check) {
    thread.copies.report_unfinished();
    thread.stores.report_unfinished();
    warpgroups.report_unfinished(thread);
    if (cluster_->size() > 1 || cluster_->order.has_engines())
      races.release(thread.index, known_at_end_);
  }
  thread.exited = true;
  warp.live &= ~(1u << thread.lane);
  --live_;
  if (warp.live == 0) flush(warp);
  // If the others of the warp are together now, one of them executes what they wait in.
  if (warp.live != 0 && warp.arrived == warp.live) wake(warp, warp.live & -warp.live);
  barriers.thread_left();
  cluster_->thread_left();
  resume_next(thread.fiber);
  std::terminate();  // nobody wakes a thread that has left
}

void Multiprocessor::suspend(Instruction instruction, Site site, unsigned barrier) {
  Thread& thread = *this_thread;
  thread.waits_in = instruction;
  thread.waits_at = site;
  thread.waits_for = barrier;
  resume_next(thread.fiber);
  thread.waits_in = Instruction::none;
}

void Multiprocessor::wake(Thread& thread) {
  thread.home().wake(*thread.warp, 1u << thread.lane);
}

/// Continues the lowest ready lane of the current warp, or of another.
void Multiprocessor::resume_next(Fiber& from) {
  Warp& warp = warps[current_warp_];
  if (warp.ready == 0) return resume_other_warp(from);
  ++findings.switches;
  this_thread = &take_lane(warp);
  Fiber::switch_to(from, this_thread->fiber);
}

void Multiprocessor::resume_other_warp(Fiber& from) {
  ++findings.switches;
  if (ready_warps_ == 0) {
    this_thread = nullptr;
    return Fiber::switch_to(from, scheduler_);
  }
  std::uint32_t candidates = ready_warps_;
  if (options_.seed) {
    for (unsigned skip = random(static_cast<unsigned>(std::popcount(candidates))); skip; --skip)
      candidates &= candidates - 1;
  } else if (const std::uint32_t later = candidates & (~1u << current_warp_)) {
    candidates = later;
  }
  current_warp_ = static_cast<unsigned>(std::countr_zero(candidates));
  this_thread = &take_lane(warps[current_warp_]);
  Fiber::switch_to(from, this_thread->fiber);
}

unsigned Multiprocessor::random(unsigned below) {
  // splitmix64: Steele, Lea and Flood, OOPSLA 2014
  random_state_ += 0x9e3779b97f4a7c15ull;
  std::uint64_t z = random_state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return static_cast<unsigned>((z >> 32) * below >> 32);
}

// ---- findings

bool Multiprocessor::is_new(Category category, SiteId site, SiteId other) {
  for (const Known& k : known_)
    if (k.category == category && k.site == site && k.other == other) return false;
  known_.push_back({category, site, other});
  return true;
}

void Multiprocessor::add_finding(Category category, SiteId site, SiteId other, std::string what) {
  findings.add({category, std::move(what), site, other, shape_.kernel, block_, block_number_,
                this_thread ? this_thread->index : 0, options_.seed});
}

void Multiprocessor::stop(Category category, SiteId site, SiteId other, std::string what) {
  add_finding(category, site, other, std::move(what));
  what = {};  // nothing on this stack may own memory
  abandon();
}

/// Ends the launch here and now. No stack of this block runs again, nor do its destructors.
void Multiprocessor::abandon() {
  stopped_ = true;
  Fiber& from = this_thread->fiber;
  this_thread = nullptr;
  Fiber::switch_to(from, scheduler_);
  std::terminate();
}

void Multiprocessor::explain_standstill() {
  for (Warp& warp : warps)
    if (warp.arrived) {
      this_thread = warp.first + std::countr_zero(warp.arrived);
      const bool whole = warp.arrived == warp.lanes;  // its warpgroup is not
      const unsigned first = whole ? warp.index / 4 * 4 : warp.index;
      const std::size_t lanes =
          whole ? std::min<std::size_t>(128, threads.size() - std::size_t{first} * 32)
                : static_cast<std::size_t>(std::popcount(warp.lanes));
      add_finding(
          Category::divergence, id_of(warp.site), 0,
          (whole ? "warpgroup " + std::to_string(first / 4) : "warp " + std::to_string(first)) +
              " never comes together: " + whereabouts({warps[first].first, lanes}));
      return;
    }
  const auto waiting =
      std::find_if(threads.begin(), threads.end(), [](const Thread& t) { return !t.exited; });
  this_thread = &*waiting;
  add_finding(Category::deadlock, id_of(waiting->waits_at), 0,
              "no thread can run: " + whereabouts(threads));
}

}  // namespace flashbook::simt
