#pragma once

#include <string>

#include "walkthrough/step/step_run.hpp"

namespace flashbook::step {

/// One step as SVG text, for light and dark grounds: the map of the tiles, what moves between the
/// two memories, and what SRAM holds.
std::string picture_of(const StepRun& run, Index at);

}  // namespace flashbook::step
