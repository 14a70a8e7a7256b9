#pragma once

#include <cstdint>

#include "sim/simt/multiprocessor.hpp"

/// Instructions that the 32 lanes of a warp execute together.
namespace flashbook::simt {

/// Ends the launch: lanes of a warp are at different instructions.
[[noreturn]] void diverge(const Warp& warp, Instruction instruction, Site site);

inline bool same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || id_of(a) == id_of(b));
}

/// Executes an instruction together. Each lane leaves its arguments and waits; the last to come
/// executes it for all: execute(warp, arguments of lane 0...31). Lanes that have left the kernel
/// are not waited for, and have no arguments: CUDA C++ Programming Guide, "Warp Shuffle Functions".
template <class Arguments, class Execute>
inline void collectively(Instruction instruction, Arguments& arguments, Site site,
                         Execute&& execute) {
  Thread& thread = *this_thread;
  Warp& warp = *thread.warp;
  if (warp.arrived == 0) {
    warp.instruction = instruction;
    warp.site = site;
  } else if (warp.instruction != instruction || !same(warp.site, site)) [[unlikely]] {
    diverge(warp, instruction, site);
  }
  const std::uint32_t lane = 1u << thread.lane;
  warp.arguments[thread.lane] = &arguments;
  warp.arrived |= lane;
  if (warp.arrived != warp.live) {
    sm->suspend_in_warp(thread);
    if (!(warp.arrived & lane)) return;  // executed; else the lanes that were missing have left
  }

  sm->flush(warp);
  execute(warp, reinterpret_cast<Arguments* const*>(warp.arguments.data()));
  warp.arrived = 0;
  sm->wake(warp, warp.live & ~lane);
}

/// Ends the launch: warps of a warpgroup are at different instructions, or there are too few.
[[noreturn]] void diverge(const Warpgroup& group, const Warp& warp);

/// Executes an instruction together with all 128 threads of the warpgroup: execute(warpgroup,
/// arguments of thread 0...127).
template <class Arguments, class Execute>
void collectively_in_warpgroup(Instruction instruction, Arguments& arguments, Site site,
                               Execute&& execute) {
  Thread& thread = *this_thread;
  Warp& warp = *thread.warp;
  if (warp.arrived == 0) {
    warp.instruction = instruction;
    warp.site = site;
  } else if (warp.instruction != instruction || !same(warp.site, site)) {
    diverge(warp, instruction, site);
  }
  const std::uint32_t lane = 1u << thread.lane;
  warp.arguments[thread.lane] = &arguments;
  warp.arrived |= lane;
  if (warp.arrived != warp.live) {
    sm->suspend_in_warp(thread);
    if (!(warp.arrived & lane)) return;  // executed; else the lanes that were missing have left
  }

  Warpgroup& group = sm->warpgroups.of(warp);
  if (group.arrived == 0) {
    group.instruction = instruction;
    group.site = site;
  }
  Warp* const first = &sm->warps[warp.index / 4 * std::size_t{4}];
  if (group.instruction != instruction || !same(group.site, site) || warp.live != ~0u ||
      sm->threads.size() < std::size_t{first->index + 4} * 32)
    diverge(group, warp);
  if (++group.arrived < 4) return sm->suspend_in_warp(thread);

  std::array<Arguments*, 128> all;
  for (unsigned t = 0; t < 128; ++t)
    all[t] = static_cast<Arguments*>(first[t / 32].arguments[t % 32]);
  for (unsigned w = 0; w < 4; ++w) sm->flush(first[w]);
  execute(group, all);
  group.arrived = 0;
  for (unsigned w = 0; w < 4; ++w) {
    first[w].arrived = 0;
    sm->wake(first[w], &first[w] == &warp ? ~lane : ~0u);
  }
}

/// How the source lane of a shuffle follows from a lane and its operand.
enum class ShuffleMode : std::uint8_t { index, bit_xor, up, down };

/// The `bits` of another lane. PTX ISA, "shfl.sync", over the whole warp; a source outside of it is
/// the lane itself. A source that the block does not have, or that has left, is reported.
std::uint32_t shuffle(std::uint32_t bits, ShuffleMode mode, unsigned operand, Site site);

/// One bit a lane: whether its predicate holds. PTX ISA, "vote.sync.ballot".
std::uint32_t ballot(bool predicate, Site site);

/// __syncwarp: the lanes meet, and what each did before happened before what any does after.
void sync_warp(Site site);

}  // namespace flashbook::simt
