// What the threads of a block did with its copies and mbarriers, one thing after another, told from
// the events that the emulator recorded: which warps wait, which fill a stage of shared memory, use
// it and give it back. Nothing of a kernel is known here beside its events.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/simt/event.hpp"

namespace flashbook::ring {

/// What a stage, a place in shared memory that copies fill again and again, holds.
struct Content {
  enum class State { empty, filling, full, used } state = State::empty;
  int tile = 0;  ///< number of the copy among those of its tensor, unless empty

  bool operator==(const Content&) const = default;
};

/// One thing that happened.
struct Moment {
  enum class Kind { waits, fills, uses, done, gives_back, is_full, registers } kind;
  int actor;                    ///< -1: the copy engine
  std::string what;             ///< "waits: K0 full"
  std::vector<Content> stages;  ///< afterwards
};

struct Timeline {
  std::vector<std::string> actors;  ///< "warpgroup 0"
  std::vector<std::string> stages;  ///< "K0": of a tensor, with a number if it has several
  std::vector<Moment> moments;
};

/// Who the actors are: the groups of so many threads, called that.
struct Actors {
  unsigned threads = 128;
  std::string name = "warpgroup";
};

/// Names of tensors by their first elements.
using TensorNames = std::map<const void*, std::string>;

/// The first thread of a group that waits at all speaks for its waits. There are no stages where no
/// copy went to a place twice and none was given back.
Timeline timeline_of(const std::vector<simt::Event>& events, const TensorNames& tensors,
                     const Actors& actors);

/// A moment a line, at most 80 columns wide.
std::string text_of(const Timeline& timeline);
/// Time from left to right; a lane an actor and a stage.
std::string svg_of(const Timeline& timeline, const std::string& title);

}  // namespace flashbook::ring
