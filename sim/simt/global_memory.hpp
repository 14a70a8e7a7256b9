#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// Remembers which blocks of a launch touched which bytes of global memory. Nothing orders blocks:
/// if two access the same bytes, and not both by reading or both atomically, it is a race.
///
/// Memory is remembered in granules of 16 bytes: for each use the last block and its bytes. Where
/// blocks share a granule, each byte is remembered with its block, or that there were several.
/// Several multiprocessors remember apart; merged, they tell about each other's.
class GlobalShadow {
 public:
  enum class Use : std::uint8_t { read, write, atomic };

  void clear();
  /// Reports a conflict with what is remembered, at the running thread.
  void access(Use use, std::uintptr_t address, unsigned bytes, std::uint64_t block, SiteId site);

  struct Conflict {
    std::uint64_t block;
    SiteId site, other_site;
    std::string what;
  };
  /// Calls `found` for the conflicts between what this and what another shadow remembers, and
  /// remembers both.
  void merge(const GlobalShadow& other, const std::function<void(const Conflict&)>& found);

 private:
  static constexpr unsigned granule_bytes = 16, page_granules = 256;

  struct Mark {
    std::uint32_t block : 31 = 0;       // 1 + its number; 0 if none
    std::uint32_t several : 1 = false;  // other blocks, too
    SiteId site = 0;
    std::uint16_t bytes = 0;
  };
  struct Granule {
    Mark last[3];  // of each use
    // Marks of other blocks, or of several, for other bytes; seldom any.
    std::unique_ptr<std::vector<Mark>[]> others;
  };
  struct Page {
    Granule granules[page_granules];
  };

  Page& page(std::uintptr_t number);
  /// Calls f for each mark of a use; no two have a byte in common.
  template <class F>
  static void for_each_mark(const Granule& granule, Use use, F&& f);
  /// A mark that conflicts with this use by this block, if there is one.
  static const Mark* conflict(const Granule& granule, Use use, const Mark& mark);
  static void remember(Granule& granule, Use use, Mark mark);
  static std::string describe(const Mark& mark, const Mark& other);

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_number_ = 0;
  Page* last_page_ = nullptr;
};

}  // namespace flashbook::simt
