#include "sim/simt/cluster.hpp"

#include <algorithm>
#include <string>

namespace flashbook::simt {

void Cluster::begin(const LaunchShape& shape, const Options& options) {
  blocks_.resize(shape.cluster);
  for (unsigned rank = 0; rank < size(); ++rank) {
    if (!blocks_[rank]) blocks_[rank] = std::make_unique<Multiprocessor>();
    blocks_[rank]->begin(shape, options, *this, rank);
  }
}

bool Cluster::run(std::uint64_t first_block, const Multiprocessor::Body& body) {
  barrier_ = {};
  visits_.clear();
  loads.clear();
  order.reset(size(), static_cast<unsigned>(blocks_[0]->threads.size()));
  for (unsigned rank = 0; rank < size(); ++rank) blocks_[rank]->start(first_block + rank, body);
  while (step()) {
  }
  const bool stopped =
      std::any_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b->stopped(); });
  const bool finished = live_threads() == 0;
  if (finished) check_visits();
  for (auto& block : blocks_) block->finish(!stopped);
  for (auto& block : blocks_) block->rethrow();
  return finished;
}

/// Lets a block run until none of its threads can, or a copy land. False if neither is possible.
bool Cluster::step() {
  std::vector<Multiprocessor*> ready;
  for (auto& block : blocks_) {
    if (block->stopped()) return false;
    if (block->can_run()) ready.push_back(block.get());
  }
  const auto choice = [&](std::size_t n) { return blocks_[0]->draw(static_cast<unsigned>(n)); };
  if (!ready.empty()) {
    ready[choice(ready.size())]->resume();
    return true;
  }
  if (loads.empty()) return false;
  loads.land(choice(loads.size()), *this);
  return true;
}

unsigned Cluster::live_threads() const {
  unsigned live = 0;
  for (const auto& block : blocks_) live += block->live_threads();
  return live;
}

Multiprocessor& Cluster::peer(unsigned rank, Site site) {
  if (rank < size()) return *blocks_[rank];
  sm->stop(Category::invalid, id_of(site), 0,
           "block " + std::to_string(rank) + " of a cluster of " + std::to_string(size()));
}

// ---- barrier.cluster

void Cluster::arrive(Site site) {
  Thread& thread = *this_thread;
  if (thread.arrived_in_cluster)
    sm->stop(Category::invalid, id_of(site), 0,
             "a thread arrives at the cluster's barrier twice without a wait between");
  thread.arrived_in_cluster = true;
  thread.cluster_phase = barrier_.phase;
  if (sm->options().check) sm->races.release(thread.index, barrier_.current);
  if (++barrier_.arrived == live_threads()) open_barrier();
}

void Cluster::wait(Site site) {
  Thread& thread = *this_thread;
  if (!thread.arrived_in_cluster)
    sm->stop(Category::invalid, id_of(site), 0,
             "a thread waits at the cluster's barrier and has not arrived at it");
  thread.arrived_in_cluster = false;
  if (thread.cluster_phase == barrier_.phase) {
    barrier_.waiting.push_back(&thread);
    sm->suspend(Instruction::cluster_barrier, site);
  } else if (sm->options().check) {
    sm->races.acquire(thread.index, barrier_.completed);
  }
}

void Cluster::open_barrier() {
  ++barrier_.phase;
  barrier_.arrived = 0;
  barrier_.completed = std::move(barrier_.current);
  barrier_.current.clear();
  for (Thread* thread : barrier_.waiting) {
    if (sm->options().check) thread->home().races.acquire(thread->index, barrier_.completed);
    sm->wake(*thread);
  }
  barrier_.waiting.clear();
}

void Cluster::thread_left() {
  if (barrier_.arrived > 0 && barrier_.arrived == live_threads()) open_barrier();
}

// ---- leaving

void Cluster::visit(unsigned rank, unsigned agent, std::uint32_t clock, SiteId site) {
  visits_[{rank, agent}] = {clock, sm->rank(), this_thread->index, site, false};
}

void Cluster::visit(const BulkLoad& load, unsigned agent, std::uint32_t clock) {
  visits_[{load.receiver, agent}] = {clock, load.issuer_rank, load.issuer, load.site, true};
}

/// What a block knew when its last thread left must hold all that others did to its memory.
void Cluster::check_visits() {
  if (!blocks_[0]->options().check) return;
  for (const auto& [key, visit] : visits_) {
    const auto& [rank, agent] = key;
    const Clock& known = blocks_[rank]->known_at_end();
    if (agent >= known.size() || known[agent] < visit.clock) report(rank, visit);
  }
}

void Cluster::report(unsigned rank, const Visit& visit) {
  Multiprocessor& issuer = *blocks_[visit.issuer_rank];
  sm = &issuer;
  this_thread = &issuer.threads[visit.issuer];
  if (visit.issuer_rank == rank)
    sm->report(Category::unfinished_copy, visit.site, 0,
               [] { return std::string("the block leaves and has not waited for this copy"); });
  else
    sm->report(Category::departed, visit.site, 0, [&] {
      return std::string(visit.is_load ? "copies to" : "arrives at an mbarrier of") + " block " +
             std::to_string(rank) + " of the cluster, which may have left by then";
    });
}

}  // namespace flashbook::simt
