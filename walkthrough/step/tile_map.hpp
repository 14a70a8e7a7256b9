#pragma once

#include "walkthrough/step/step_run.hpp"

namespace flashbook::step {

enum class TileState { skipped, to_come, now, done };

/// The tiles of S of one head in one kernel, as a step finds them. What the run never visits is
/// skipped.
struct TileMap {
  Index rows = 0, columns = 0;  ///< T_r and T_c; 0 where the algorithm has no tiles
  Index kernel = 0, head = 0, member = 0;
  std::vector<TileState> states;  ///< [rows, columns]

  TileState at(Index i, Index j) const { return states[static_cast<std::size_t>(i * columns + j)]; }
  Index count(TileState state) const;
};

/// Of the head and kernel that the step is part of or, if none of its kernel's steps visits a tile,
/// of the next that does.
TileMap tile_map(const StepRun& run, Index at);

/// Which tile of S a step visits.
struct TileIndex {
  Index i, j;
  bool operator==(const TileIndex&) const = default;
};
TileIndex tile_index(const StepRun& run, const io::Step& step);

}  // namespace flashbook::step
