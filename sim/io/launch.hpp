#pragma once

#include <functional>
#include <limits>

#include "sim/io/memory.hpp"

namespace flashbook::io {

/// HBM, as many workers with SRAM as there are threads, and what they have counted so far.
struct Machine {
  Hbm hbm;
  Index sram_bytes = Sram::unlimited;  ///< a worker
  int max_workers = std::numeric_limits<int>::max();
  Listener* listener = nullptr;
  Tally tally;

  /// A kernel: task(sram, t) for every t in [0, tasks), in any order, on all workers; one by one
  /// and in order where a listener is given.
  void launch(Index tasks, const std::function<void(Sram&, Index)>& task);
  /// What ran so far was a preparation: it is not counted.
  void forget();
};

}  // namespace flashbook::io
