#include "sim/simt/global_memory.hpp"

#include <iterator>
#include <string>
#include <utility>

#include "sim/simt/multiprocessor.hpp"

namespace flashbook::simt {
namespace {

constexpr GlobalShadow::Use uses[] = {GlobalShadow::Use::read, GlobalShadow::Use::write,
                                      GlobalShadow::Use::atomic};

constexpr unsigned index_of(GlobalShadow::Use use) {
  return static_cast<unsigned>(use);
}

/// Whether one mark can stand for both: of one block, or each of several.
template <class Mark>
bool is_same_kind(const Mark& a, const Mark& b) {
  return a.several == b.several && (a.several || a.block == b.block);
}

template <class Mark>
void add(std::vector<Mark>& marks, const Mark& fresh) {
  for (Mark& known : marks)
    if (is_same_kind(known, fresh)) {
      known.bytes |= fresh.bytes;
      return;
    }
  if (fresh.bytes) marks.push_back(fresh);
}

bool compatible(GlobalShadow::Use a, GlobalShadow::Use b) {
  return a == b && a != GlobalShadow::Use::write;
}

}  // namespace

template <class F>
void GlobalShadow::for_each_mark(const Granule& granule, Use use, F&& f) {
  if (granule.last[index_of(use)].bytes) f(granule.last[index_of(use)]);
  if (!granule.others) return;
  for (const Mark& mark : granule.others[index_of(use)]) f(mark);
}

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
  const Mark& known = granule.last[index_of(use)];
  if (known.block == mark.block && (known.bytes & mask) == mask) return;
  if (const Mark* other = conflict(granule, use, mark)) [[unlikely]]
    sm->report(Category::block_race, site, other->site, [&] { return describe(mark, *other); });
  remember(granule, use, mark);
}

std::string GlobalShadow::describe(const Mark& mark, const Mark& other) {
  const auto name = [](const Mark& m) { return "block " + std::to_string(m.block - 1); };
  const std::string second = other.block == mark.block ? "another block" : name(other);
  return name(mark) + " of the grid and " + second +
         " access the same global memory, not both atomically or to read";
}

const GlobalShadow::Mark* GlobalShadow::conflict(const Granule& granule, Use use,
                                                 const Mark& mark) {
  const Mark* found = nullptr;
  for (const Use other : uses)
    if (!compatible(use, other))
      for_each_mark(granule, other, [&](const Mark& known) {
        if (known.bytes & mark.bytes && (known.block != mark.block || known.several) && !found)
          found = &known;
      });
  return found;
}

void GlobalShadow::remember(Granule& granule, Use use, Mark mark) {
  Mark& last = granule.last[index_of(use)];
  if (last.several && (last.bytes & mark.bytes) == mark.bytes) return;
  if (last.bytes == 0 || (is_same_kind(last, mark) && !granule.others)) {
    mark.bytes |= last.bytes;
    last = mark;
    return;
  }

  // Bytes that another block has touched, too, are of several; what it has besides stays its own.
  std::vector<Mark> marks;
  Mark shared = mark;
  shared.several = true;
  shared.bytes = 0;
  for_each_mark(granule, use, [&](Mark known) {
    const std::uint16_t common = known.bytes & mark.bytes;
    if (!known.several && known.block != mark.block) {
      shared.bytes |= common;
      known.bytes &= static_cast<std::uint16_t>(~common);
    }
    mark.bytes &= static_cast<std::uint16_t>(~common);
    if (known.bytes) marks.push_back(known);
  });
  add(marks, shared);
  add(marks, mark);

  last = marks.back();
  marks.pop_back();
  if (marks.empty() && !granule.others) return;
  if (!granule.others) granule.others = std::make_unique<std::vector<Mark>[]>(std::size(uses));
  granule.others[index_of(use)] = std::move(marks);
}

void GlobalShadow::merge(const GlobalShadow& other,
                         const std::function<void(const Conflict&)>& found) {
  for (const auto& [number, theirs] : other.pages_) {
    Page& mine = page(number);
    for (unsigned g = 0; g < page_granules; ++g)
      for (const Use use : uses) {
        for_each_mark(theirs->granules[g], use, [&](const Mark& mark) {
          if (const Mark* known = conflict(mine.granules[g], use, mark))
            found({mark.block - std::uint64_t{1}, mark.site, known->site, describe(mark, *known)});
          remember(mine.granules[g], use, mark);
        });
      }
  }
}

}  // namespace flashbook::simt
