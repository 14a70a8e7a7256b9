#include "sim/simt/access_log.hpp"

#include <algorithm>

#include "sim/simt/cost.hpp"

namespace flashbook::simt {
namespace {

/// Addresses of a lane at a line for which memory is kept: 128 KiB. Kernels whose lanes seldom meet
/// have more.
constexpr std::size_t most_kept = std::size_t{1} << 14;

void add_global(Traffic& traffic, const WarpAddresses& access) {
  traffic.instructions += 1;
  traffic.cost += sectors(access);
  traffic.ideal += ideal_sectors(access);
}

void add_shared(Traffic& traffic, const WarpAddresses& access) {
  traffic.instructions += 1;
  traffic.cost += wavefronts(access);
  traffic.ideal += ideal_wavefronts(access);
}

void count(LineCounts& line, Access kind, const WarpAddresses& access) {
  switch (kind) {
    case Access::global_load:
      return add_global(line.global_load, access);
    case Access::global_store:
      return add_global(line.global_store, access);
    case Access::shared_load:
      return add_shared(line.shared_load, access);
    case Access::shared_store:
      return add_shared(line.shared_store, {access.address, access.mask, access.bytes, true});
    case Access::atomic_add:
      line.atomics += 1;
      return add_global(line.global_store, access);
    case Access::async_copy:
      line.async_copies += 1;
      return;
    case Access::exp2:
      line.exp2 += 1;
      return;
    case Access::barrier:
      line.barriers += 1;
      return;
    case Access::mbarrier_arrival:
      line.mbarrier_arrivals += 1;
      return;
    case Access::mbarrier_wait:
      line.mbarrier_waits += 1;
      return;
  }
}

}  // namespace

AccessLog::Entry& AccessLog::add_entry(std::size_t key, SiteId site, Access kind, unsigned bytes) {
  if (key >= index_.size()) index_.resize(key + 64);
  entries_.push_back({site, kind, bytes});
  index_[key] = &entries_.back();
  return entries_.back();
}

void AccessLog::flush(std::vector<LineCounts>& lines) {
  for (Entry* const entry : dirty_) {
    Entry& e = *entry;
    if (e.site >= lines.size()) lines.resize(e.site + std::size_t{1});
    std::size_t executions = 0;
    for (const auto& of_lane : e.addresses) executions = std::max(executions, of_lane.size());
    for (std::size_t i = 0; i < executions; ++i) {
      std::array<std::uint64_t, 32> address;
      std::uint32_t mask = 0;
      for (unsigned lane = 0; lane < 32; ++lane) {
        if (i >= e.addresses[lane].size()) continue;
        address[lane] = e.addresses[lane][i];
        mask |= 1u << lane;
      }
      count(lines[e.site], e.kind, {address.data(), mask, e.bytes});
    }
    for (auto& of_lane : e.addresses) {
      of_lane.clear();
      if (of_lane.capacity() > most_kept) of_lane.shrink_to_fit();
    }
    e.dirty = false;
  }
  dirty_.clear();
}

}  // namespace flashbook::simt
