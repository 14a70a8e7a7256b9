#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/simt/report.hpp"

namespace flashbook::simt {

/// What a lane executes on its own, not together with its warp.
enum class Access : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  atomic_add,
  async_copy,
  exp2,
  barrier,
  mbarrier_arrival,
  mbarrier_wait
};

/// The single-lane instructions of one warp since its lanes were last together.
///
/// Lanes run one after another, so what a GPU executes as one instruction of the warp arrives here
/// lane by lane. The i-th execution of a line by each lane is taken to be one instruction of the
/// warp. That is exact while the lanes loop equally often between two collective instructions.
class AccessLog {
 public:
  AccessLog() = default;
  AccessLog(AccessLog&&) = default;  // entries keep their addresses; in a copy they would not
  AccessLog& operator=(AccessLog&&) = default;

  /// A lane accesses memory. Addresses are bytes, of shared memory from its start.
  void access(SiteId site, Access kind, unsigned bytes, unsigned lane, std::uint64_t address);
  /// A lane executes something without an address.
  void execute(SiteId site, Access kind, unsigned lane) { access(site, kind, 1, lane, 0); }

  bool empty() const { return dirty_.empty(); }
  /// The lanes are together: adds what they executed to its lines.
  void flush(std::vector<LineCounts>& lines);

 private:
  struct Entry {
    SiteId site;
    Access kind;
    unsigned bytes;
    std::array<std::vector<std::uint64_t>, 32> addresses = {};  // of each lane, in its order
    bool dirty = false;
  };
  Entry& add_entry(std::size_t key, SiteId site, Access kind, unsigned bytes);

  std::deque<Entry> entries_;
  std::vector<Entry*> index_;  // by site, kind and size
  std::vector<Entry*> dirty_;
};

inline void AccessLog::access(SiteId site, Access kind, unsigned bytes, unsigned lane,
                              std::uint64_t address) {
  const auto size = static_cast<std::size_t>(std::bit_width(bytes));  // 1 to 5
  const std::size_t key = (site * std::size_t{16} + static_cast<std::size_t>(kind)) * 8 + size;
  Entry* entry = key < index_.size() ? index_[key] : nullptr;
  if (!entry) [[unlikely]]
    entry = &add_entry(key, site, kind, bytes);
  entry->addresses[lane].push_back(address);
  if (entry->dirty) return;
  entry->dirty = true;
  dirty_.push_back(entry);
}

}  // namespace flashbook::simt
