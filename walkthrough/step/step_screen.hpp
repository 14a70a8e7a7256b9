#pragma once

#include "walkthrough/step/step_run.hpp"

namespace flashbook::step {

/// How the screen marks what matters.
enum class Ink { plain, coloured };

/// "step 2 of 6, tile 0,1: queries 0–1, keys 2–3": a step without a tile is known by what it
/// writes.
std::string place_of(const StepRun& run, Index at);

/// One step in at most 80 columns: where it is, the equations with their numbers, the map of the
/// tiles, what moved and what SRAM holds. Matrices beyond 8 × 8 are cut, and say so.
std::string screen_of(const StepRun& run, Index at, Ink ink);

/// What stands above the steps when all are printed: the run and, where they are few, its inputs.
std::string heading_of(const StepRun& run, Ink ink);

}  // namespace flashbook::step
