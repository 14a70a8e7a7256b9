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
  Mark mark;
  mark.block = static_cast<std::uint32_t>(block + 1) & 0x7fffffffu;
  mark.site = site;
  mark.bytes = mask;
  Granule& granule = page(number / page_granules).granules[number % page_granules];

  // What this block has done before, it need not check: a conflict since then is the other's to
  // report.
  const Mark& known = granule[use];
  if (known.block == mark.block && (known.bytes & mask) == mask) return;
  if (const Mark* other = conflict(granule, use, mark)) [[unlikely]]
    sm->report(Category::block_race, site, other->site, [&] { return describe(mark, *other); });
  remember(granule[use], mark);
}

std::string GlobalShadow::describe(const Mark& mark, const Mark& other) {
  const auto name = [](const Mark& m) { return "block " + std::to_string(m.block - 1); };
  const std::string second = other.block == mark.block ? "another block" : name(other);
  return name(mark) + " of the grid and " + second +
         " access the same global memory, not both atomically or to read";
}

const GlobalShadow::Mark* GlobalShadow::conflict(const Granule& granule, Use use,
                                                 const Mark& mark) {
  for (const Use other : uses) {
    const Mark& known = granule[other];
    if (compatible(use, other) || !(known.bytes & mark.bytes)) continue;
    if (known.block != mark.block || known.several) return &known;
  }
  return nullptr;
}

void GlobalShadow::remember(Mark& known, const Mark& mark) {
  if (known.block == mark.block) {
    if (!known.several) known.bytes |= mark.bytes;
    return;
  }
  const std::uint16_t shared = known.bytes & mark.bytes;
  known = mark;
  if (shared == 0) return;
  known.several = true;
  known.bytes = shared;  // only of these is it known that several blocks touched them
}

void GlobalShadow::merge(const GlobalShadow& other,
                         const std::function<void(const Conflict&)>& found) {
  for (const auto& [number, theirs] : other.pages_) {
    Page& mine = page(number);
    for (unsigned g = 0; g < page_granules; ++g)
      for (const Use use : uses) {
        const Mark& mark = theirs->granules[g][use];
        if (mark.block == 0) continue;
        if (const Mark* known = conflict(mine.granules[g], use, mark))
          found({mark.block - std::uint64_t{1}, mark.site, known->site, describe(mark, *known)});
        remember(mine.granules[g][use], mark);
      }
  }
}

}  // namespace flashbook::simt
