#pragma once

#include "walkthrough/step/step_run.hpp"
#include "walkthrough/step/value_blocks.hpp"

namespace flashbook::step {

/// Between HBM and SRAM, one way and the other: an atomic addition reads and writes.
struct Traffic {
  Index read = 0, written = 0;

  Traffic& operator+=(const Traffic& other) {
    read += other.read;
    written += other.written;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

struct TrafficRow {
  std::string name;
  Traffic here, so_far;  ///< at this step, and with all steps before it
};

struct StepTraffic {
  std::vector<TrafficRow> tensors;  ///< in elements: those of which anything has moved so far
  TrafficRow elements, bytes;       ///< of all
};

StepTraffic traffic_of(const StepRun& run, Index at);

/// The same as a table.
Block traffic_block(const StepRun& run, Index at);

}  // namespace flashbook::step
