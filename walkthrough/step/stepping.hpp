#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "walkthrough/keys.hpp"
#include "walkthrough/step/step_screen.hpp"

namespace flashbook::step {

/// Where a reader is in a run, and what they are told beside the step.
struct Place {
  Index at = 0;  ///< of run.steps
  std::string message = "";

  bool operator==(const Place&) const = default;
};

/// The step that a reader names: its number from 1, "first", "last", or a tile "i,j": the next step
/// that visits it, around the end. A name of nothing leaves them where they are, and says why.
Place jump(const StepRun& run, Index at, const std::string& name);

/// One step on or back; at either end they stay, and are told.
Place next(const StepRun& run, Index at);
Place back(Index at);

/// Shows steps one at a time as the reader asks for them, until they quit. Where the terminal has
/// too few lines, the heading goes first; a step that is still too tall says so.
void step_by_key(const StepRun& run, const KeySource& next_key, std::ostream& out, Ink ink,
                 const std::function<Index()>& terminal_lines);

}  // namespace flashbook::step
