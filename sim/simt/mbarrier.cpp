#include "sim/simt/mbarrier.hpp"

#include <algorithm>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

/// PTX ISA, "mbarrier: Tracking asynchronous operations by the mbarrier object".
constexpr std::uint32_t most_bytes = (1u << 20) - 1;

void log_use(Access use, Site site) {
  if (sm->options().count) this_thread->warp->log.execute(id_of(site), use, this_thread->lane);
}

RaceDetector::Accessor running_thread(Site site) {
  return sm->races.accessor(this_thread->index, id_of(site));
}

}  // namespace

void Mbarriers::reset(Multiprocessor& home) {
  home_ = &home;
  all_.clear();
}

Mbarriers::Mbarrier* Mbarriers::find(std::uint32_t offset) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Mbarrier& m) { return m.offset == offset; });
  return found == all_.end() ? nullptr : &*found;
}

void Mbarriers::init(std::uint32_t offset, unsigned arrivals, Site site) {
  Mbarrier* known = find(offset);
  if (known && !known->waiting.empty())
    sm->stop(Category::invalid, id_of(site), 0, "an mbarrier is initialised while threads wait");
  if (arrivals == 0 || arrivals > most_bytes || offset % 8 != 0)
    sm->stop(Category::invalid, id_of(site), 0,
             "an mbarrier is 8 bytes, aligned to 8, of 1 to 2^20 - 1 arrivals");
  Mbarrier fresh;
  fresh.offset = offset;
  fresh.arrivals = fresh.pending = arrivals;
  if (sm->options().check) {
    sm->races.write(this_thread->index, offset, sizeof(std::uint64_t), id_of(site));
    fresh.initialiser = running_thread(site).agent;
    fresh.initialised_at = sm->cluster().order.now(fresh.initialiser);
  }
  if (known)
    *known = std::move(fresh);
  else
    all_.push_back(std::move(fresh));
}

Mbarriers::Mbarrier& Mbarriers::usable(std::uint32_t offset, Site site) {
  Mbarrier* m = find(offset);
  if (!m) sm->stop(Category::invalid, id_of(site), 0, "an mbarrier that nobody has initialised");
  if (sm->options().check)
    home_->races.check_written(running_thread(site), offset, sizeof(std::uint64_t));
  return *m;
}

void Mbarriers::arrive(std::uint32_t offset, Site site) {
  Mbarrier& m = usable(offset, site);
  log_use(Access::mbarrier_arrival, site);
  if (m.pending == 0)
    sm->stop(Category::invalid, id_of(site), 0,
             "more arrivals at an mbarrier than its phase has, " + std::to_string(m.arrivals));
  if (sm->options().check) {
    const auto by = running_thread(site);
    if (home_ != sm)
      sm->cluster().visit(home_->rank(), by.agent, sm->cluster().order.now(by.agent), by.site);
    sm->races.release(this_thread->index, m.current);
  }
  home_->record({Event::Kind::arrive, this_thread->index, id_of(site), offset});
  --m.pending;
  complete_phase_if_due(m);
}

void Mbarriers::expect(std::uint32_t offset, std::uint32_t bytes, Site site) {
  Mbarrier& m = usable(offset, site);
  if (bytes > most_bytes)
    sm->stop(Category::invalid, id_of(site), 0,
             "an mbarrier cannot wait for " + std::to_string(bytes) + " bytes, at most 2^20 - 1");
  m.pending_bytes += bytes;
}

void Mbarriers::wait(std::uint32_t offset, unsigned parity, Site site) {
  Mbarrier& m = usable(offset, site);
  log_use(Access::mbarrier_wait, site);
  sm->record({Event::Kind::wait, this_thread->index, id_of(site), offset});
  if (m.phase == parity) {
    m.waiting.push_back(this_thread);
    sm->suspend(Instruction::mbarrier_wait, site, offset);
  } else if (sm->options().check) {
    sm->races.acquire(this_thread->index, m.completed);
  }
  sm->record({Event::Kind::pass, this_thread->index, id_of(site), offset});
}

void Mbarriers::complete_phase_if_due(Mbarrier& m) {
  if (m.pending > 0 || m.pending_bytes != 0) return;
  m.phase ^= 1;
  home_->record({Event::Kind::complete, 0, 0, m.offset});
  m.pending = m.arrivals;
  if (m.engine) {
    m.current.resize(std::max<std::size_t>(m.current.size(), m.engine + 1));
    m.current[m.engine] = m.engine_clock;
    m.engine_clock = home_->cluster().order.advance(m.engine);
  }
  join(m.completed, m.current);
  m.current.clear();
  // Everybody who waits does so for the phase that has just been completed.
  for (Thread* thread : m.waiting) {
    if (home_->options().check) home_->races.acquire(thread->index, m.completed);
    Multiprocessor::wake(*thread);
  }
  m.waiting.clear();
}

// ---- for copies

unsigned Mbarriers::begin_copy(std::uint32_t offset, Site site) {
  Mbarrier& m = usable(offset, site);
  if (!sm->options().check) return 0;
  check_fence(m, site);
  if (m.engine == 0) {
    Order& order = sm->cluster().order;
    m.engine = order.add_engine("a copy for the mbarrier at byte " + std::to_string(offset));
    m.engine_clock = order.advance(m.engine);
  }
  return m.engine;
}

void Mbarriers::check_fence(const Mbarrier& m, Site site) const {
  const Order& order = sm->cluster().order;
  const auto by = running_thread(site);
  const std::uint32_t known = by.clock[m.initialiser];
  for (const auto kind : {Order::Fence::mbarrier_init, Order::Fence::proxy})
    if (order.is_fenced(m.initialiser, m.initialised_at, known, kind)) return;
  sm->report(Category::race, by.site, 0, [&] {
    return "a copy for an mbarrier that " + order.name(m.initialiser, home_->rank()) +
           " has initialised with no fence_mbarrier_init after it";
  });
}

std::uint32_t Mbarriers::clock_of_copies(std::uint32_t offset) {
  return find(offset)->engine_clock;
}

void Mbarriers::complete_bytes(std::uint32_t offset, std::uint32_t bytes) {
  Mbarrier& m = *find(offset);
  m.pending_bytes -= bytes;
  complete_phase_if_due(m);
}

std::string Mbarriers::missing(std::uint32_t offset) const {
  const auto m =
      std::find_if(all_.begin(), all_.end(), [&](const Mbarrier& b) { return b.offset == offset; });
  std::string out = "the mbarrier at byte " + std::to_string(offset) + " has " +
                    std::to_string(m->arrivals - m->pending) + " of " +
                    std::to_string(m->arrivals) + " arrivals";
  if (m->pending_bytes > 0)
    out += ", and " + std::to_string(m->pending_bytes) + " announced bytes have not come";
  if (m->pending_bytes < 0)
    out += ", and " + std::to_string(-m->pending_bytes) + " bytes came that nobody announced";
  return out;
}

}  // namespace flashbook::simt
