#include "sim/simt/global_memory.hpp"

#include <string>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace {

constexpr GlobalShadow::Use uses[] = {GlobalShadow::Use::read, GlobalShadow::Use::write,
                                      GlobalShadow::Use::atomic};

bool compatible(GlobalShadow::Use a, GlobalShadow::Use b) {
  return a == b && a != GlobalShadow::Use::write;
}

}  // namespace

void GlobalShadow::clear() {
  pages_.clear();
  last_page_ = nullptr;
}

GlobalShadow::Page& GlobalShadow::page(std::uintptr_t number) {
  if (last_page_ && number == last_number_) return *last_page_;
  auto& entry = pages_[number];
  if (!entry) entry = std::make_unique<Page>();
  last_number_ = number;
  last_page_ = entry.get();
  return *entry;
}

void GlobalShadow::access(Use use, std::uintptr_t address, unsigned bytes, std::uint64_t block,
                          SiteId site) {
  const std::uintptr_t number = address / granule_bytes;  // no access spans two: all are aligned
  const auto mask = static_cast<std::uint16_t>(((1u << bytes) - 1) << address % granule_bytes);
  const Mark mark = {static_cast<std::uint32_t>(block + 1), site, mask};
  Granule& granule = page(number / page_granules).granules[number % page_granules];

  if (const Mark* other = conflict(granule, use, mark)) [[unlikely]]
    sm->report(Category::block_race, site, other->site, [&] {
      return "blocks " + std::to_string(block) + " and " + std::to_string(other->block - 1) +
             " of the grid access the same global memory, not both atomically or to read";
    });
  remember(granule, use, mark);
}

const GlobalShadow::Mark* GlobalShadow::conflict(const Granule& granule, Use use,
                                                 const Mark& mark) {
  for (const Use other : uses) {
    if (compatible(use, other)) continue;
    for (const Mark& known : granule.of_use[static_cast<unsigned>(other)])
      if (known.block && known.block != mark.block && (known.bytes & mark.bytes)) return &known;
  }
  return nullptr;
}

void GlobalShadow::remember(Granule& granule, Use use, const Mark& mark) {
  Mark* known = granule.of_use[static_cast<unsigned>(use)];
  for (int i = 0; i < 2; ++i)
    if (known[i].block == mark.block) {
      known[i].bytes |= mark.bytes;
      return;
    }
  known[known[0].block == 0 ? 0 : 1] = mark;
}

void GlobalShadow::merge(const GlobalShadow& other,
                         const std::function<void(const Conflict&)>& found) {
  for (const auto& [number, theirs] : other.pages_) {
    Page& mine = page(number);
    for (unsigned g = 0; g < page_granules; ++g)
      for (const Use use : uses)
        for (const Mark& mark : theirs->granules[g].of_use[static_cast<unsigned>(use)]) {
          if (!mark.block) continue;
          if (const Mark* known = conflict(mine.granules[g], use, mark))
            found({(number * page_granules + g) * granule_bytes, mark.block - 1, known->block - 1,
                   mark.site, known->site});
          remember(mine.granules[g], use, mark);
        }
  }
}

}  // namespace flashbook::simt
