#include "sim/simt/collective.hpp"

#include <bit>
#include <cstdio>
#include <string>
#include <utility>

namespace flashbook::simt {
namespace {

unsigned source_lane(unsigned lane, ShuffleMode mode, unsigned operand) {
  unsigned source = 0;
  switch (mode) {
    case ShuffleMode::index:
      return operand % 32;
    case ShuffleMode::bit_xor:
      source = lane ^ operand;
      break;
    case ShuffleMode::up:
      source = lane - operand;  // wraps below 0
      break;
    case ShuffleMode::down:
      source = lane + operand;
      break;
  }
  return source < 32 ? source : lane;
}

template <class F>
void for_each_lane(std::uint32_t lanes, F&& f) {
  for (; lanes; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace

void diverge(const Warp& warp, Instruction instruction, Site site) {
  char lanes[16];
  std::snprintf(lanes, sizeof lanes, "0x%08x", warp.arrived);
  sm->stop(Category::divergence, id_of(site), id_of(warp.site),
           "lane " + std::to_string(this_thread->lane) + " comes to " + name(instruction) +
               " while lanes " + lanes + " of its warp wait in " + name(warp.instruction));
}

void diverge(const Warpgroup& group, const Warp& warp) {
  const bool is_first = group.arrived == 0 || warp.live != ~0u;
  sm->stop(Category::divergence, id_of(warp.site), is_first ? SiteId{0} : id_of(group.site),
           "warp " + std::to_string(warp.index) + " comes to " + name(warp.instruction) +
               (is_first ? " in a warpgroup of fewer than 128 threads, or of which some have left"
                         : " while others of its warpgroup wait in ") +
               (is_first ? "" : name(group.instruction)));
}

namespace {

/// Returns NaN's bits, for what a GPU gives is undefined.
std::uint32_t report_no_source(const Warp& warp, unsigned lane, unsigned source, Site site) {
  Thread* const executing = std::exchange(this_thread, warp.first + lane);
  sm->report(Category::divergence, id_of(site), 0, [&] {
    return "lane " + std::to_string(lane) + " asks for the value of lane " +
           std::to_string(source) +
           (warp.lanes >> source & 1 ? ", which has left the kernel" : ", which the block has not");
  });
  this_thread = executing;
  return ~0u;
}

}  // namespace

std::uint32_t shuffle(std::uint32_t bits, ShuffleMode mode, unsigned operand, Site site) {
  struct Arguments {
    std::uint32_t bits;
    ShuffleMode mode;
    unsigned operand;
    std::uint32_t result;
  } mine = {bits, mode, operand, bits};
  collectively(Instruction::shuffle, mine, site, [&](Warp& warp, Arguments* const* lane) {
    if (sm->options().count) ++sm->line(site).shuffles;
    for_each_lane(warp.live, [&](unsigned l) {
      const unsigned source = source_lane(l, lane[l]->mode, lane[l]->operand);
      if (warp.live >> source & 1)
        lane[l]->result = lane[source]->bits;
      else
        lane[l]->result = report_no_source(warp, l, source, site);
    });
  });
  return mine.result;
}

std::uint32_t ballot(bool predicate, Site site) {
  struct Arguments {
    bool predicate;
    std::uint32_t result;
  } mine = {predicate, 0};
  collectively(Instruction::vote, mine, site, [&](Warp& warp, Arguments* const* lane) {
    if (sm->options().count) ++sm->line(site).shuffles;
    std::uint32_t votes = 0;
    for_each_lane(warp.live, [&](unsigned l) { votes |= std::uint32_t{lane[l]->predicate} << l; });
    for_each_lane(warp.live, [&](unsigned l) { lane[l]->result = votes; });
  });
  return mine.result;
}

void sync_warp(Site site) {
  int nothing = 0;
  collectively(Instruction::syncwarp, nothing, site, [&](Warp& warp, int* const*) {
    if (sm->options().count) ++sm->line(site).barriers;
    if (!sm->options().check) return;
    Clock clock;
    for_each_lane(warp.live, [&](unsigned l) { sm->races.release(warp.first[l].index, clock); });
    for_each_lane(warp.live, [&](unsigned l) { sm->races.acquire(warp.first[l].index, clock); });
  });
}

}  // namespace flashbook::simt
