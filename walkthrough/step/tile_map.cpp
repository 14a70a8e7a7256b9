#include "walkthrough/step/tile_map.hpp"

#include <algorithm>

namespace flashbook::step {
namespace {

bool same_task(const io::Step& a, const io::Step& b) {
  return a.kernel == b.kernel && a.task == b.task;
}

/// The step whose tile says which map to draw: the last before `at` in its task, else the next.
const io::Step* guide_of(const StepRun& run, Index at) {
  for (Index t = at; t >= 0 && same_task(run[t], run[at]); --t)
    if (run[t].tile) return &run[t];
  for (Index t = at; t < run.size(); ++t)
    if (run[t].tile) return &run[t];
  for (Index t = at; t >= 0; --t)
    if (run[t].tile) return &run[t];
  return nullptr;
}

bool on_map(const io::Step& step, const io::Step& guide) {
  return step.tile && step.kernel == guide.kernel && step.tile->head == guide.tile->head &&
         step.tile->member.index == guide.tile->member.index;
}

}  // namespace

Index TileMap::count(TileState state) const {
  return std::count(states.begin(), states.end(), state);
}

TileIndex tile_index(const StepRun& run, const io::Step& step) {
  return {step.tile->rows.first / run.schedule.blocks.rows,
          step.tile->keys.first / run.schedule.blocks.columns};
}

TileMap tile_map(const StepRun& run, Index at) {
  const io::Step* guide = run.algorithm->takes.blocks ? guide_of(run, at) : nullptr;
  if (guide == nullptr) return {};
  const auto& [rows, columns] = run.schedule.blocks;
  const Member& member = guide->tile->member;
  TileMap map = {io::ceil_div(member.n_q, rows),
                 io::ceil_div(member.n_k, columns),
                 guide->kernel,
                 guide->tile->head,
                 member.index,
                 {}};
  map.states.resize(static_cast<std::size_t>(map.rows * map.columns), TileState::skipped);
  for (Index t = 0; t < run.size(); ++t) {
    if (!on_map(run[t], *guide)) continue;
    const TileIndex tile = tile_index(run, run[t]);
    map.states[static_cast<std::size_t>(tile.i * map.columns + tile.j)] = t < at ? TileState::done
                                                                          : t == at
                                                                              ? TileState::now
                                                                              : TileState::to_come;
  }
  return map;
}

}  // namespace flashbook::step
