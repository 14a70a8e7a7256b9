#include "sim/simt/bulk_load.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "sim/simt/cluster.hpp"

namespace flashbook::simt {
namespace {

constexpr unsigned most_row_bytes = 256 * 8;

void write_box(const BulkLoad& load, std::byte* target) {
  const unsigned row_bytes = load.map.row_bytes();
  for_each_row(load.map, load.at, [&](const BoxRow& row) {
    std::array<std::byte, most_row_bytes> bytes = {};
    if (row.bytes) std::memcpy(&bytes[row.skipped], row.part, row.bytes);
    for (unsigned i = 0; i < row_bytes; i += 16)
      std::memcpy(target + swizzled(std::size_t{row.number} * row_bytes + i, load.map.swizzle),
                  &bytes[i], 16);
  });
}

void mark_global(const BoxRow& row, GlobalShadow::Use use, SiteId id) {
  const auto begin = reinterpret_cast<std::uintptr_t>(row.part), end = begin + row.bytes;
  for (std::uintptr_t at = begin; at < end;) {
    const std::uintptr_t next = std::min(end, (at / 16 + 1) * 16);
    sm->global.access(use, at, static_cast<unsigned>(next - at), sm->block_number(), id);
    at = next;
  }
}

Event event_of(Event::Kind kind, const BulkLoad& load) {
  return {kind,        load.issuer,          load.site,          load.mbarrier,
          load.target, load.map.box_bytes(), load.map.data.begin};
}

void begin_load(const BulkLoad& load, Site site) {
  Multiprocessor& receiver = sm->cluster().block(load.receiver);
  const unsigned engine = receiver.mbarriers.begin_copy(load.mbarrier, site);
  if (sm->options().check)
    receiver.races.begin_copy(sm->races.accessor(this_thread->index, load.site), engine,
                              load.target, load.map.box_bytes());
  receiver.record(event_of(Event::Kind::load, load));
  sm->cluster().loads.add(load);
}

}  // namespace

void BulkLoads::land(std::size_t i, Cluster& cluster) {
  const BulkLoad load = under_way_[i];
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
  Multiprocessor& receiver = cluster.block(load.receiver);
  write_box(load, receiver.shared() + load.target);
  const std::uint32_t bytes = load.map.box_bytes();
  if (receiver.options().check) {
    const unsigned engine = receiver.mbarriers.engine(load.mbarrier);
    const std::uint32_t clock = receiver.mbarriers.clock_of_copies(load.mbarrier);
    receiver.races.end_copy(engine, clock, load.target, bytes, load.site);
    cluster.visit(load, engine, clock);
  }
  receiver.record(event_of(Event::Kind::land, load));
  receiver.mbarriers.complete_bytes(load.mbarrier, bytes);
}

bool admits_box(const Pointer<const std::byte>& box, const TensorMap& map, unsigned coordinates,
                Site site) {
  const SiteId id = id_of(site);
  if (map.rank != coordinates)
    sm->stop(Category::invalid, id, 0,
             std::to_string(coordinates) + " coordinates in a tensor map of " +
                 std::to_string(map.rank) + " dimensions");
  if (box.at < box.begin || box.at >= box.end || box.bytes_left() < map.box_bytes()) {
    sm->report(Category::out_of_bounds, id, 0, [&] {
      return "a box of " + std::to_string(map.box_bytes()) + " bytes at byte " +
             std::to_string(box.index()) + " of a tile of " + std::to_string(box.size());
    });
    return false;
  }
  const auto offset = static_cast<std::size_t>(box.at - sm->shared());
  if (offset % map.alignment() == 0) return true;
  sm->report(Category::misaligned, id, 0, [&] {
    return "a box at byte " + std::to_string(offset) +
           " of shared memory, which is no multiple of " + std::to_string(map.alignment());
  });
  return false;
}

/// Where no GPU's box begins: it answers with an illegal instruction.
void require_place(const TensorMap& map, const int* at, Direction direction, Site site) {
  if (const auto bytes = std::int64_t{at[0]} * map.element_bytes; bytes % 16 != 0)
    sm->stop(Category::invalid, id_of(site), 0,
             "a box from byte " + std::to_string(bytes) +
                 " of the innermost dimension, which is no multiple of 16");
  if (direction == Direction::load) return;
  for (unsigned d = 0; d < map.rank; ++d)
    if (at[d] < 0)
      sm->stop(Category::invalid, id_of(site), 0,
               "a store at " + std::to_string(at[d]) + " in dimension " + std::to_string(d) +
                   ": only loads may begin before the tensor");
}

bool observe_tensor(const TensorMap& map, const int* at, Direction direction, unsigned& bytes,
                    Site site) {
  require_place(map, at, direction, site);
  constexpr GlobalShadow::Use uses[] = {GlobalShadow::Use::read, GlobalShadow::Use::write,
                                        GlobalShadow::Use::atomic};
  bool inside = true;
  for_each_row(map, at, [&](const BoxRow& row) {
    if (row.bytes == 0 || !inside) return;
    if (row.part < map.data.begin || row.part + row.bytes > map.data.end) {
      inside = false;
      return sm->report(Category::out_of_bounds, id_of(site), 0, [&] {
        return std::to_string(row.bytes) + " bytes at byte " +
               std::to_string(row.part - map.data.begin) + " of " +
               std::to_string(map.data.size()) + ": the tensor map is larger than its memory";
      });
    }
    bytes += row.bytes;
    if (sm->options().check) mark_global(row, uses[static_cast<unsigned>(direction)], id_of(site));
  });
  return inside;
}

void load_tensor(const Pointer<std::byte>& target, const TensorMap& map, const int* at,
                 unsigned coordinates, std::uint32_t mbarrier, std::uint32_t receivers, Site site) {
  unsigned bytes = 0;
  if (!admits_box(target, map, coordinates, site) ||
      !observe_tensor(map, at, Direction::load, bytes, site))
    return;
  if (receivers == 0) receivers = 1u << sm->rank();
  if (sm->options().count) {
    LineCounts& line = sm->line(site);
    ++line.tma;
    line.tma_l2_bytes += bytes;
    line.tma_load_bytes +=
        std::uint64_t{map.box_bytes()} * static_cast<unsigned>(std::popcount(receivers));
  }
  BulkLoad load = {map,
                   {},
                   static_cast<std::uint32_t>(target.at - sm->shared()),
                   mbarrier,
                   0,
                   sm->rank(),
                   this_thread->index,
                   id_of(site)};
  std::copy_n(at, coordinates, load.at);
  for (; receivers; receivers &= receivers - 1) {
    load.receiver = static_cast<unsigned>(std::countr_zero(receivers));
    static_cast<void>(sm->cluster().peer(load.receiver, site));
    begin_load(load, site);
  }
}

}  // namespace flashbook::simt
